//! Text that is put together from pieces.
//!
//! A failure is often found within microseconds, and its report has some hundred pieces. With a string for each of them, and
//! what `format!` does to join them, the report would take longer than the exploration.

use crate::runtime::At;
use selvedge_machine::SourceSpan;

/// What pieces are added to.
pub(crate) trait Text {
    /// Adds some words.
    fn add(&mut self, words: &str) -> &mut Self;

    /// Adds a number.
    fn number(&mut self, number: u64) -> &mut Self;

    /// Adds a place in the source that the compiler knows.
    fn at(&mut self, at: At) -> &mut Self;

    /// Adds a place in the source, as it shows itself.
    fn span(&mut self, span: &SourceSpan) -> &mut Self;

    /// Adds blanks.
    fn blanks(&mut self, count: usize) -> &mut Self;
}

impl Text for String {
    fn add(&mut self, words: &str) -> &mut String {
        self.push_str(words);
        self
    }

    fn number(&mut self, mut number: u64) -> &mut String {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.extend(digits[first..].iter().map(|&digit| char::from(digit)));
        self
    }

    fn at(&mut self, at: At) -> &mut String {
        self.add(at.file()).add(":").number(at.line().into()).add(":").number(at.column().into())
    }

    fn span(&mut self, span: &SourceSpan) -> &mut String {
        if span.file.is_empty() {
            return self.add("unknown location");
        }
        self.add(&span.file);
        if span.line > 0 {
            self.add(":").number(span.line.into());
            if span.column > 0 {
                self.add(":").number(span.column.into());
            }
        }
        self
    }

    fn blanks(&mut self, count: usize) -> &mut String {
        self.extend(std::iter::repeat_n(' ', count));
        self
    }
}

/// How many characters there are.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_places_are_what_they_show_themselves_as() {
        for number in [0, 7, 10, 99, 100, u64::MAX] {
            assert_eq!(String::new().number(number), &number.to_string());
        }
        let file = "src/lib.rs".to_owned();
        for (file, line, column) in [(String::new(), 3, 4), (file.clone(), 0, 4), (file.clone(), 3, 0), (file, 30, 41)]
        {
            let span = SourceSpan { file, line, column, function: String::new() };
            assert_eq!(String::new().span(&span), &span.to_string());
        }
        let here = std::panic::Location::caller();
        assert_eq!(String::new().at(here), &here.to_string());
        assert_eq!((width("abc"), width("aé")), (3, 2));
    }
}
