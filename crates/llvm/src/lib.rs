//! x
#![allow(missing_docs, dead_code)]
pub mod ast;
pub mod error;
pub mod lexer;
pub mod parser;
pub mod types;
