//! Explores the programs of `programs/`, and prints the tables of the README.
//!
//! `cargo run --release --example table` prints all rows, `... -- MCS` those whose name contains `MCS`, and `... -- --write`
//! puts the tables into the README.

#![allow(unsafe_code)]

#[path = "../programs/mod.rs"]
mod programs;
mod rows;

/// What the programs are written against.
mod library {
    pub use selvedge::{cell, hint, sync, thread};
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--write"] {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let readme = std::fs::read_to_string(file).expect("the README can be read");
        let readme = rows::replaced(&readme, rows::LITMUS_HEAD, &rows::litmus(|_| true));
        let readme = rows::replaced(&readme, rows::PROGRAMS_HEAD, &rows::programs(|_| true));
        std::fs::write(file, readme).expect("the README can be written");
        return;
    }
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    println!("{}\n{}", rows::LITMUS_HEAD, rows::litmus(is_wanted).join("\n"));
    println!("\n{}\n{}", rows::PROGRAMS_HEAD, rows::programs(is_wanted).join("\n"));
}
