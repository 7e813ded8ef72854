fn main() {
    let mut args = std::env::args().skip(1);
    let rounds: u64 = args.next().unwrap().parse().unwrap();
    let (mut ok, mut err) = (0u64, 0u64);
    for path in args {
        let text = std::fs::read(&path).unwrap();
        let mut seed = 0x9E3779B97F4A7C15u64 ^ text.len() as u64;
        let mut rnd = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for round in 0..rounds {
            let mut t = text.clone();
            let s0 = rnd();
            for _ in 0..1 + rnd() % 3 {
                let at = (rnd() % t.len() as u64) as usize;
                match rnd() % 6 {
                    0 => t[at] = (rnd() & 0x7f) as u8,
                    1 => t[at] ^= 1 << (rnd() % 7),
                    2 => {
                        t.remove(at);
                    }
                    3 => {
                        let c = t[at];
                        t.insert(at, c);
                    }
                    4 => {
                        let from = (rnd() % t.len() as u64) as usize;
                        let len = (rnd() % 40) as usize;
                        let end = (from + len).min(t.len());
                        let piece = t[from..end].to_vec();
                        t.splice(at..at, piece);
                    }
                    _ => {
                        // replace a line by another one
                        let lines: Vec<&[u8]> = t.split(|&b| b == b'\n').collect();
                        let a = (rnd() % lines.len() as u64) as usize;
                        let b = (rnd() % lines.len() as u64) as usize;
                        let mut l = lines.clone();
                        l[a] = lines[b];
                        t = l.join(&b'\n');
                    }
                }
            }
            let Ok(s) = String::from_utf8(t) else { continue };
            let r = std::panic::catch_unwind(|| selvedge_llvm::parse_str("m", &s));
            match r {
                Err(_) => {
                    std::fs::write("/tmp/fuzz-crash.ll", &s).unwrap();
                    println!("PANIC {path} round {round} {s0}");
                    std::process::exit(1);
                }
                Ok(Ok(m)) => {
                    ok += 1;
                    if let Err(e) = selvedge_ir::verify::verify_module(&m) {
                        std::fs::write("/tmp/fuzz-verify.ll", &s).unwrap();
                        println!("VERIFY {path} round {round}: {e}");
                        std::process::exit(1);
                    }
                }
                Ok(Err(_)) => err += 1,
            }
        }
    }
    println!("{ok} accepted, {err} rejected");
}
