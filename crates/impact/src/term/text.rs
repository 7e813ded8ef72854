//! Terms for people: `count + 1 > 0`, `!(mutex == 0)`.

use super::{Node, Op, Term, Terms, signed};

impl Terms {
    /// The term in words of the source.
    pub fn text(&self, term: Term) -> String {
        self.show(term, false)
    }

    fn show(&self, term: Term, nested: bool) -> String {
        let text = match *self.node(term) {
            Node::Const(value) => return self.show_number(value, self.bits(term)),
            Node::Var(symbol) => return self.symbols[symbol].name.clone(),
            Node::Select(array, index) => return format!("{}[{}]", self.symbols[array].name, self.show(index, false)),
            Node::ZExt(a) | Node::SExt(a) => return self.show(a, nested),
            Node::Extract(0, a) => format!("{} mod 2^{}", self.show(a, true), self.bits(term)),
            Node::Extract(low, a) => format!("{} >> {low} mod 2^{}", self.show(a, true), self.bits(term)),
            Node::Sum(constant, ref parts) => self.show_sum(constant, parts, self.bits(term)),
            Node::Binary(op, a, b) => {
                format!("{} {} {}", self.show(a, true), operator(op, self.bits(term)), self.show(b, true))
            }
            Node::Eq(a, b) => format!("{} == {}", self.show(a, true), self.show(b, true)),
            Node::Ult(a, b) => format!("{} <u {}", self.show(a, true), self.show(b, true)),
            Node::Slt(a, b) => format!("{} < {}", self.show(a, true), self.show(b, true)),
            Node::Not(a) => return self.show_negation(a, nested),
            Node::Ite(c, a, b) => {
                format!("{} ? {} : {}", self.show(c, true), self.show(a, true), self.show(b, true))
            }
        };
        if nested { format!("({text})") } else { text }
    }

    fn show_negation(&self, inner: Term, nested: bool) -> String {
        let text = match *self.node(inner) {
            Node::Eq(a, b) => format!("{} != {}", self.show(a, true), self.show(b, true)),
            Node::Ult(a, b) => format!("{} >=u {}", self.show(a, true), self.show(b, true)),
            Node::Slt(a, b) => format!("{} >= {}", self.show(a, true), self.show(b, true)),
            Node::Binary(Op::And, a, b) => {
                format!("{} || {}", self.show_negation(a, true), self.show_negation(b, true))
            }
            Node::Not(a) => return self.show(a, nested),
            _ => return format!("!{}", self.show(inner, true)),
        };
        if nested { format!("({text})") } else { text }
    }

    fn show_sum(&self, constant: u64, parts: &[(u64, Term)], bits: u8) -> String {
        let mut text = String::new();
        for &(factor, part) in parts {
            let factor = signed(factor, bits);
            let sign = match (text.is_empty(), factor < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(sign);
            if factor.unsigned_abs() != 1 {
                text.push_str(&format!("{} * ", factor.unsigned_abs()));
            }
            text.push_str(&self.show(part, true));
        }
        match signed(constant, bits) {
            0 => {}
            k if k < 0 => text.push_str(&format!(" - {}", k.unsigned_abs())),
            _ => text.push_str(&format!(" + {}", self.show_number(constant, bits))),
        }
        text
    }

    fn show_number(&self, value: u64, bits: u8) -> String {
        if bits == 1 {
            return if value == 1 { "true".to_owned() } else { "false".to_owned() };
        }
        let object = self.addresses.range(..=value).next_back().filter(|_| bits == 64);
        match object.map(|(base, name)| (value - base, name)) {
            Some((0, name)) => format!("&{name}"),
            Some((offset, name)) if offset < 1 << 31 => format!("&{name}+{offset}"),
            _ => signed(value, bits).to_string(),
        }
    }
}

fn operator(op: Op, bits: u8) -> &'static str {
    match op {
        Op::Mul => "*",
        Op::UDiv => "/",
        Op::URem => "%",
        Op::And if bits == 1 => "&&",
        Op::Or if bits == 1 => "||",
        Op::And => "&",
        Op::Or => "|",
        Op::Xor => "^",
        Op::Shl => "<<",
        Op::LShr => ">>",
        Op::AShr => ">>",
    }
}
