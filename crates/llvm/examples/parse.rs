fn main() {
    let mut bytes = 0;
    let mut bad = 0;
    let start = std::time::Instant::now();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        bytes += text.len();
        if let Err(e) = selvedge_llvm::parser::parse_module(&path, &text) {
            bad += 1;
            println!("{}", e.locate(&path, &text));
        }
    }
    let t = start.elapsed().as_secs_f64();
    println!("{bad} bad, {} bytes, {:.1} MB/s", bytes, bytes as f64 / 1e6 / t);
}
