//! Receives, for people: where a receive stands, and which patterns it has.

use crate::core::{Clause, Expr, Kind, Pattern, Place};

/// The place and the patterns of the receive whose loop starts with `let <Found, Message> = peek in ...`.
pub fn of(arg: &Expr, then: &Expr) -> Option<(Place, String)> {
    let Kind::Primop(name, _) = &arg.kind else { return None };
    let Kind::Case(_, clauses) = &then.kind else { return None };
    if name.name() != "recv_peek_message" {
        return None;
    }
    let matching = &clauses.first()?.body;
    let place = if matching.place.line == 0 { then.place } else { matching.place };
    let patterns = match &matching.kind {
        Kind::Case(_, clauses) => {
            // The last clause leaves the message where it is.
            let taking = clauses.iter().take(clauses.len().saturating_sub(1));
            let texts: Vec<String> = taking.map(clause_text).collect();
            texts.join(" or ")
        }
        _ => "any message".to_owned(),
    };
    Some((place, if patterns.is_empty() { "any message".to_owned() } else { patterns }))
}

fn clause_text(clause: &Clause) -> String {
    clause.patterns.first().map_or_else(String::new, pattern_text)
}

/// Variables are `_`: what is bound before is compared in guards.
fn pattern_text(pattern: &Pattern) -> String {
    let all = |items: &[Pattern]| items.iter().map(pattern_text).collect::<Vec<_>>().join(", ");
    match pattern {
        Pattern::Var(_) => "_".to_owned(),
        Pattern::Literal(term) => term.to_string(),
        Pattern::Cons(head, tail) => format!("[{} | {}]", pattern_text(head), pattern_text(tail)),
        Pattern::Tuple(items) => format!("{{{}}}", all(items)),
        Pattern::Map(_) => "#{...}".to_owned(),
        Pattern::Binary(_) => "<<...>>".to_owned(),
        Pattern::Alias(_, pattern) => pattern_text(pattern),
    }
}
