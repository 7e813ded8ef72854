fn main() {
    let (mut bytes, mut bad) = (0, 0);
    let start = std::time::Instant::now();
    let verify = std::env::var_os("VERIFY").is_some();
    let mut features = std::collections::BTreeMap::<String, usize>::new();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        bytes += text.len();
        match selvedge_llvm::parse_str(&path, &text) {
            Err(e) => {
                bad += 1;
                println!("{e}");
            }
            Ok(m) => {
                if verify && let Err(e) = selvedge_ir::verify::verify_module(&m) {
                    bad += 1;
                    println!("{path}: {}", e.to_string().chars().take(1000).collect::<String>());
                }
                for f in m.functions.values() {
                    for i in f.insts.values() {
                        if let selvedge_ir::InstKind::Unsupported { feature } = &i.kind {
                            *features.entry(feature.clone()).or_default() += 1;
                        }
                    }
                }
                if std::env::var_os("PRINT").is_some() {
                    println!("{m}");
                }
            }
        }
    }
    let t = start.elapsed().as_secs_f64();
    println!("{features:#?}");
    println!("{bad} bad, {} bytes, {:.1} MB/s", bytes, bytes as f64 / 1e6 / t);
}
