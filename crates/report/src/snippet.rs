//! Source places with their code.
//!
//! Debug information gives the line and column where something starts, but not where it ends; the word that starts
//! there is underlined. Source that cannot be read (moved, generated, read from a `.ll` file of another machine) is no
//! reason to fail: the place is shown without its code.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet};
use selvedge_machine::SourceSpan;
use std::ops::Range;

/// Where the text of source files comes from: gives the text of a file, if it can be had.
pub type Sources<'s> = &'s dyn Fn(&str) -> Option<String>;

/// Reads source files from disk.
pub fn from_disk(file: &str) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A title line, and below it the places with their code and labels, the first as the main one.
pub fn render(
    level: Level<'_>,
    id: Option<&str>,
    title: &str,
    places: &[(SourceSpan, String)],
    width: usize,
    sources: Sources,
) -> String {
    let mut heading = level.primary_title(title);
    if let Some(id) = id {
        heading = heading.id(id);
    }
    let mut group = Group::with_title(heading);
    let mut shown: Vec<&str> = Vec::new();
    for (span, _) in places.iter().filter(|(span, _)| !span.file.is_empty()) {
        if shown.contains(&span.file.as_str()) {
            continue;
        }
        shown.push(&span.file);
        group = match annotated(&span.file, places, sources) {
            Some(snippet) => group.element(snippet),
            None => group.elements(origins(&span.file, places)).elements(notes(&span.file, places)),
        };
    }
    Renderer::styled().term_width(width).render(&[group])
}

/// All places in one file, on its code; none if some line is not there.
fn annotated<'p>(
    file: &'p str,
    places: &'p [(SourceSpan, String)],
    sources: Sources,
) -> Option<Snippet<'p, Annotation<'p>>> {
    let text = sources(file)?;
    let mut annotations = Vec::new();
    for (n, (span, label)) in places.iter().enumerate().filter(|(_, (span, _))| span.file == file) {
        let range = word_at(&text, span.line, span.column)?;
        let kind = if n == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let label = (!label.is_empty()).then_some(label.as_str());
        annotations.push(kind.span(range).label(label));
    }
    Some(Snippet::source(text).path(file).annotations(annotations))
}

fn origins<'p>(file: &'p str, places: &'p [(SourceSpan, String)]) -> Vec<Origin<'p>> {
    let here = places.iter().filter(|(span, _)| span.file == file);
    here.map(|(span, _)| {
        let mut origin = Origin::path(file);
        if span.line != 0 {
            origin = origin.line(span.line as usize).char_column(span.column.max(1) as usize);
        }
        origin
    })
    .collect()
}

fn notes<'p>(file: &'p str, places: &'p [(SourceSpan, String)]) -> Vec<Message<'p>> {
    let labelled = places.iter().filter(|(span, label)| span.file == file && !label.is_empty());
    labelled.map(|(span, label)| Level::NOTE.message(format!("{label} ({span})"))).collect()
}

/// The bytes of the word that starts at a line and column (in bytes, from 1); the whole line if no column is known.
fn word_at(text: &str, line: u32, column: u32) -> Option<Range<usize>> {
    let index = (line as usize).checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(index).map(str::len).sum();
    let line = text[start..].split_inclusive('\n').next()?.trim_end();
    let indent = line.len() - line.trim_start().len();
    let Some(offset) = (column as usize).checked_sub(1) else { return Some(start + indent..start + line.len()) };
    let rest = line.get(offset..).unwrap_or_default();
    let word = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum::<usize>();
    let len = word.max(rest.chars().next().map_or(0, char::len_utf8));
    let at = start + offset.min(line.len());
    Some(at..at + len)
}

#[cfg(test)]
mod tests {
    use super::word_at;

    #[test]
    fn the_word_at_a_position_is_found() {
        let text = "int x;\n  count++;\n";
        let word = |line, column| word_at(text, line, column).map(|range| &text[range]);
        assert_eq!(word(2, 3), Some("count"));
        assert_eq!(word(2, 8), Some("+"));
        assert_eq!(word(2, 0), Some("count++;"), "without a column it is the line");
        assert_eq!(word(2, 99), Some(""), "a column behind the end is the end");
        assert_eq!(word(4, 1), None, "a line behind the end is not there");
        assert_eq!(word(0, 1), None, "an unknown line is not there");
    }
}
