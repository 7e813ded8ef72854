//! Terms as bytes: the external term format of the Erlang run-time system.
//!
//! Core Erlang comes in this form (see `loader.rs`), not as text: the text leaves out lines that are not larger than
//! the line of what is around them, and files altogether.

use crate::atom::Atom;
use crate::bits::{Bits, Builder};
use crate::term::{Fun, Map, Term};
use num_bigint::{BigInt, Sign};
use std::rc::Rc;

/// Why bytes are no term.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EtfError {
    /// They end too early.
    #[error("the bytes of a term end too early")]
    TooShort,
    /// A tag that is not known or makes no sense here.
    #[error("tag {0} in the bytes of a term is not supported")]
    Tag(u8),
    /// A name or number that is none.
    #[error("the bytes of a term are malformed")]
    Malformed,
}

/// Reads a term.
pub fn decode(bytes: &[u8]) -> Result<Term, EtfError> {
    let mut reader = Reader { bytes, at: 0 };
    match reader.u8()? {
        131 => reader.term(),
        other => Err(EtfError::Tag(other)),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], EtfError> {
        let end = self.at.checked_add(count).ok_or(EtfError::TooShort)?;
        let slice = self.bytes.get(self.at..end).ok_or(EtfError::TooShort)?;
        self.at = end;
        Ok(slice)
    }

    fn u8(&mut self) -> Result<u8, EtfError> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<usize, EtfError> {
        let bytes = self.take(2)?;
        Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }

    fn u32(&mut self) -> Result<usize, EtfError> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn term(&mut self) -> Result<Term, EtfError> {
        Ok(match self.u8()? {
            70 => {
                let bytes = self.take(8)?.try_into().expect("eight bytes");
                Term::Float(f64::from_be_bytes(bytes))
            }
            77 => {
                let len = self.u32()?;
                let last = usize::from(self.u8()?);
                let bits = Bits::from_bytes(self.take(len)?);
                let size = (len * 8 + last).checked_sub(8).ok_or(EtfError::Malformed)?;
                if last == 0 || last > 8 {
                    return Err(EtfError::Malformed);
                }
                Term::Bits(Rc::new(bits.slice(0, size)))
            }
            97 => Term::Int(i64::from(self.u8()?)),
            98 => {
                let bytes = self.take(4)?;
                Term::Int(i64::from(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
            }
            100 => {
                // Latin-1.
                let len = self.u16()?;
                let name: String = self.take(len)?.iter().map(|&byte| char::from(byte)).collect();
                Term::atom(&name)
            }
            118 => {
                let len = self.u16()?;
                self.atom(len)?
            }
            119 => {
                let len = usize::from(self.u8()?);
                self.atom(len)?
            }
            104 => {
                let arity = usize::from(self.u8()?);
                self.tuple(arity)?
            }
            105 => {
                let arity = self.u32()?;
                self.tuple(arity)?
            }
            106 => Term::Nil,
            107 => {
                let len = self.u16()?;
                let bytes = self.take(len)?;
                Term::list(bytes.iter().map(|&byte| Term::Int(i64::from(byte))).collect::<Vec<_>>())
            }
            108 => {
                let len = self.u32()?;
                let items = self.terms(len)?;
                let tail = self.term()?;
                Term::list_with_tail(items, tail)
            }
            109 => {
                let len = self.u32()?;
                Term::binary(self.take(len)?)
            }
            110 => {
                let len = usize::from(self.u8()?);
                self.big(len)?
            }
            111 => {
                let len = self.u32()?;
                self.big(len)?
            }
            113 => self.export()?,
            116 => {
                let len = self.u32()?;
                let mut map = Map::new();
                for _ in 0..len {
                    let key = self.term()?;
                    let value = self.term()?;
                    map.insert(key, value);
                }
                Term::map(map)
            }
            other => return Err(EtfError::Tag(other)),
        })
    }

    fn atom(&mut self, len: usize) -> Result<Term, EtfError> {
        let name = std::str::from_utf8(self.take(len)?).map_err(|_| EtfError::Malformed)?;
        Ok(Term::atom(name))
    }

    fn terms(&mut self, count: usize) -> Result<Vec<Term>, EtfError> {
        // A count is not to be believed before the bytes are there.
        let mut items = Vec::with_capacity(count.min(self.bytes.len() - self.at));
        for _ in 0..count {
            items.push(self.term()?);
        }
        Ok(items)
    }

    fn tuple(&mut self, arity: usize) -> Result<Term, EtfError> {
        Ok(Term::tuple_of(self.terms(arity)?))
    }

    fn big(&mut self, len: usize) -> Result<Term, EtfError> {
        let sign = if self.u8()? == 0 { Sign::Plus } else { Sign::Minus };
        Ok(Term::integer(BigInt::from_bytes_le(sign, self.take(len)?)))
    }

    fn export(&mut self) -> Result<Term, EtfError> {
        let (module, name, arity) = (self.term()?, self.term()?, self.term()?);
        match (module, name, arity) {
            (Term::Atom(module), Term::Atom(name), Term::Int(arity)) => {
                let arity = u8::try_from(arity).map_err(|_| EtfError::Malformed)?;
                Ok(Term::Fun(Rc::new(Fun::External { module, name, arity })))
            }
            _ => Err(EtfError::Malformed),
        }
    }
}

/// Writes a term; none for processes, references and functions with code, which mean nothing outside.
pub fn encode(term: &Term) -> Option<Vec<u8>> {
    let mut out = vec![131];
    write(term, &mut out)?;
    Some(out)
}

fn write(term: &Term, out: &mut Vec<u8>) -> Option<()> {
    match term {
        Term::Int(value) => write_int(*value, out),
        Term::Big(value) => write_big(value, out)?,
        Term::Float(value) => {
            out.push(70);
            out.extend(value.to_be_bytes());
        }
        Term::Atom(atom) => write_atom(*atom, out)?,
        Term::Nil => out.push(106),
        Term::Cons(_) => write_list(term, out)?,
        Term::Tuple(items) => {
            match u8::try_from(items.len()) {
                Ok(arity) => out.extend([104, arity]),
                Err(_) => write_len(105, items.len(), out)?,
            }
            items.iter().try_for_each(|item| write(item, out))?;
        }
        Term::Map(map) => {
            write_len(116, map.len(), out)?;
            for (key, value) in map.iter() {
                write(key, out)?;
                write(value, out)?;
            }
        }
        Term::Bits(bits) if bits.is_binary() => {
            write_len(109, bits.len() / 8, out)?;
            out.extend(bits.to_bytes());
        }
        Term::Bits(bits) => {
            write_len(77, bits.len().div_ceil(8), out)?;
            out.push((bits.len() % 8) as u8);
            out.extend(bits.to_bytes());
        }
        Term::Fun(fun) => match &**fun {
            Fun::External { module, name, arity } => {
                out.push(113);
                write_atom(*module, out)?;
                write_atom(*name, out)?;
                out.extend([97, *arity]);
            }
            Fun::Local { .. } => return None,
        },
        Term::Pid(_) | Term::Ref(_) => return None,
    }
    Some(())
}

fn write_len(tag: u8, len: usize, out: &mut Vec<u8>) -> Option<()> {
    out.push(tag);
    out.extend(u32::try_from(len).ok()?.to_be_bytes());
    Some(())
}

fn write_int(value: i64, out: &mut Vec<u8>) {
    if let Ok(byte) = u8::try_from(value) {
        out.extend([97, byte]);
    } else if let Ok(int) = i32::try_from(value) {
        out.push(98);
        out.extend(int.to_be_bytes());
    } else {
        write_big(&BigInt::from(value), out).expect("eight bytes are not too many");
    }
}

fn write_big(value: &BigInt, out: &mut Vec<u8>) -> Option<()> {
    let (sign, bytes) = value.to_bytes_le();
    match u8::try_from(bytes.len()) {
        Ok(len) => out.extend([110, len]),
        Err(_) => write_len(111, bytes.len(), out)?,
    }
    out.push(u8::from(sign == Sign::Minus));
    out.extend(bytes);
    Some(())
}

fn write_atom(atom: Atom, out: &mut Vec<u8>) -> Option<()> {
    let name = atom.name().as_bytes();
    // The run-time system writes Latin-1 names in the older form.
    if atom.name().chars().all(|c| (c as u32) < 256) {
        let latin: Vec<u8> = atom.name().chars().map(|c| c as u8).collect();
        out.push(100);
        out.extend(u16::try_from(latin.len()).ok()?.to_be_bytes());
        out.extend(latin);
    } else if let Ok(len) = u8::try_from(name.len()) {
        out.extend([119, len]);
        out.extend(name);
    } else {
        out.push(118);
        out.extend(u16::try_from(name.len()).ok()?.to_be_bytes());
        out.extend(name);
    }
    Some(())
}

fn write_list(term: &Term, out: &mut Vec<u8>) -> Option<()> {
    let mut items = term.items();
    let elements: Vec<&Term> = items.by_ref().collect();
    let bytes: Option<Vec<u8>> = elements.iter().map(|item| item.as_int().and_then(|i| u8::try_from(i).ok())).collect();
    if let (Some(bytes), Term::Nil, Ok(len)) = (bytes, items.at, u16::try_from(elements.len())) {
        out.push(107);
        out.extend(len.to_be_bytes());
        out.extend(bytes);
        return Some(());
    }
    write_len(108, elements.len(), out)?;
    elements.iter().try_for_each(|item| write(item, out))?;
    write(items.at, out)
}

/// A binary made by a builder, as a term.
pub fn bits_term(builder: Builder) -> Term {
    Term::Bits(Rc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back() {
        let big = Term::integer(BigInt::from(-7).pow(99));
        let bits = Term::Bits(Rc::new(Bits::from_bytes(&[1, 2, 0xe0]).slice(0, 19)));
        let map = Term::map([(Term::Int(1), Term::atom("x")), (Term::Float(1.0), Term::Nil)].into());
        let list = Term::list_with_tail([Term::Int(-5), Term::Int(1 << 40), big, bits], Term::atom("tail"));
        let term = Term::tuple([list, map, Term::string("text"), Term::binary(b"bytes"), Term::Nil]);
        assert_eq!(decode(&encode(&term).unwrap()), Ok(term));
    }

    #[test]
    fn bad_bytes_are_errors() {
        assert_eq!(decode(&[]), Err(EtfError::TooShort));
        assert_eq!(decode(&[131, 108, 255, 255, 255, 255]), Err(EtfError::TooShort));
        assert_eq!(decode(&[131, 3]), Err(EtfError::Tag(3)));
        assert_eq!(decode(&[131, 77, 0, 0, 0, 0, 9]), Err(EtfError::Malformed));
    }
}
