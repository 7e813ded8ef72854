//! Function bodies: labels, names of values, and their numbers.
//!
//! While a body is read, values and blocks carry provisional numbers in the order in which they are first mentioned.
//! When it is complete, every value gets its final number: `v7` is number 7, named and unnamed ones take the lowest
//! numbers that are free. Numbers that nothing uses belong to one instruction that stands in no block. Blocks are
//! numbered in the order of their labels.

use super::cursor::{self, Cursor};
use super::{Parsed, Parser};
use crate::lex::Tok;
use crate::{
    Block, BlockData, Callee, EntityRef, EntityVec, FuncId, Inst, InstData, InstKind, Operand, Type, Value, ValueData,
    ValueDef,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A function whose head is read.
pub(super) struct Body<'t> {
    pub func: FuncId,
    /// The position of the first token behind `{`.
    pub start: usize,
    values: EntityVec<Value, PendingValue<'t>>,
    value_names: HashMap<&'t str, Value>,
    blocks: EntityVec<Block, PendingBlock<'t>>,
    block_names: HashMap<&'t str, Block>,
    /// Labels in the order of the text.
    order: Vec<Block>,
    insts: EntityVec<Inst, InstData>,
    params: Vec<Value>,
}

struct PendingValue<'t> {
    /// The word that stands for it; empty if there is none.
    word: &'t str,
    /// Where it was first mentioned.
    position: usize,
    /// Its type and definition, once seen.
    def: Option<(Type, ValueDef)>,
    /// Its name for people.
    name: String,
}

struct PendingBlock<'t> {
    word: &'t str,
    position: usize,
    /// Its label, once seen: the final number.
    label: Option<Block>,
    name: String,
    insts: Vec<Inst>,
}

/// A name on the left of `=`.
struct ResultName<'t> {
    word: &'t str,
    position: usize,
    ty: Option<Type>,
    name: String,
}

/// Words that can never name a value.
const RESERVED: [&str; 4] = ["undef", "null", "true", "false"];

impl<'t> Body<'t> {
    pub fn new(func: FuncId) -> Body<'t> {
        Body {
            func,
            start: 0,
            values: EntityVec::new(),
            value_names: HashMap::new(),
            blocks: EntityVec::new(),
            block_names: HashMap::new(),
            order: Vec::new(),
            insts: EntityVec::new(),
            params: Vec::new(),
        }
    }

    /// `v0 "name": i32` in the head.
    pub fn param(&mut self, at: &mut Cursor<'t>) -> Parsed<()> {
        let result = result_name(at)?;
        let Some(ty) = result.ty else {
            return at.error("a parameter needs a type");
        };
        let def = ValueDef::Param(self.params.len() as u32);
        let value = self.define(at, result, ty, def)?;
        self.params.push(value);
        Ok(())
    }

    /// The value that a word stands for.
    pub fn value(&mut self, at: &Cursor<'t>, word: &'t str) -> Parsed<Value> {
        if RESERVED.contains(&word) {
            return at.error_before(format!("`{word}` cannot stand here"));
        }
        let position = at.position().saturating_sub(1);
        let values = &mut self.values;
        let new = || values.push(PendingValue { word, position, def: None, name: String::new() });
        Ok(*self.value_names.entry(word).or_insert_with(new))
    }

    /// The block that a word stands for.
    pub fn block(&mut self, at: &Cursor<'t>, word: &'t str) -> Block {
        let position = at.position().saturating_sub(1);
        let blocks = &mut self.blocks;
        let new = || blocks.push(PendingBlock { word, position, label: None, name: String::new(), insts: Vec::new() });
        *self.block_names.entry(word).or_insert_with(new)
    }

    fn define(&mut self, at: &Cursor<'t>, name: ResultName<'t>, ty: Type, def: ValueDef) -> Parsed<Value> {
        if RESERVED.contains(&name.word) {
            return at.error_at(name.position, format!("`{}` cannot be defined", name.word));
        }
        let value = self.value(at, name.word)?;
        let pending = &mut self.values[value];
        if pending.def.is_some() {
            return at.error_at(name.position, format!("`{}` is already defined", name.word));
        }
        pending.def = Some((ty, def));
        let numbered = cursor::index::<Value>("v", name.word).is_some();
        pending.name = if name.name.is_empty() && !numbered { name.word.to_owned() } else { name.name };
        Ok(value)
    }

    /// `bb3 "name":` or `loop:`.
    fn label(&mut self, at: &mut Cursor<'t>) -> Parsed<()> {
        let position = at.position();
        let word = at.word("a label")?;
        let name = at.accept_string();
        at.expect(':')?;
        let block = self.block(at, word);
        if self.blocks[block].label.is_some() {
            return at.error_at(position, format!("the label `{word}` is already defined"));
        }
        let expected = Block::new(self.order.len());
        let number = cursor::index::<Block>("bb", word);
        if number.is_some_and(|number| number != expected) {
            return at.error_at(position, format!("blocks are numbered in order: `{expected}` comes next"));
        }
        let pending = &mut self.blocks[block];
        pending.label = Some(expected);
        pending.name = name.unwrap_or_else(|| if number.is_none() { word.to_owned() } else { String::new() });
        self.order.push(block);
        at.end_statement()
    }

    /// Adds an instruction to the current block. Results that have no name in the text become unnamed values.
    fn add_inst(&mut self, parser: &Parser<'t>, kind: InstKind, names: Vec<ResultName<'t>>) -> Parsed<Inst> {
        let at = &parser.at;
        let types = parser.types_of_results(&kind, &names)?;
        let inst = self.insts.next_key();
        let mut names = names.into_iter();
        let mut results = SmallVec::new();
        for (n, ty) in types.into_iter().enumerate() {
            let def = ValueDef::Result(inst, n as u32);
            results.push(match names.next() {
                Some(name) => {
                    let ty = name.ty.unwrap_or(ty);
                    self.define(at, name, ty, def)?
                }
                None => {
                    let (position, name) = (at.position(), String::new());
                    self.values.push(PendingValue { word: "", position, def: Some((ty, def)), name })
                }
            });
        }
        let Some(&block) = self.order.last() else {
            return at.error("an instruction must follow a label");
        };
        self.insts.push(InstData { kind, results, loc: parser.module.no_loc() });
        self.blocks[block].insts.push(inst);
        Ok(inst)
    }
}

fn result_name<'t>(at: &mut Cursor<'t>) -> Parsed<ResultName<'t>> {
    let position = at.position();
    let word = at.word("the name of a value")?;
    let name = at.accept_string().unwrap_or_default();
    let ty = if at.accept(':') { Some(at.ty()?) } else { None };
    Ok(ResultName { word, position, ty, name })
}

impl<'t> Parser<'t> {
    /// The third pass over a function: its blocks up to `}`.
    pub(super) fn function_body(&mut self, mut body: Body<'t>) -> Parsed<()> {
        self.at.go_to(body.start);
        loop {
            if !self.at.skip_newlines() {
                return self.at.error("the function does not end: `}` is missing");
            }
            if self.at.accept('}') {
                break;
            }
            let after_name = if matches!(self.at.peek_at(1), Tok::Str(_)) { 2 } else { 1 };
            let colon = *self.at.peek_at(after_name) == Tok::Punct(':');
            if colon && *self.at.peek_at(after_name + 1) == Tok::Newline {
                body.label(&mut self.at)?;
            } else {
                self.statement(&mut body)?;
            }
        }
        if body.order.is_empty() {
            return self.at.error_before("a function needs a block; write `declare` for one without");
        }
        self.finish(body)
    }

    /// `v1: i32, v2: i1 = cas ... !loc3`.
    fn statement(&mut self, body: &mut Body<'t>) -> Parsed<()> {
        let mut names = Vec::new();
        if self.at.line_has(&Tok::Punct('=')) {
            names.push(result_name(&mut self.at)?);
            while self.at.accept(',') {
                names.push(result_name(&mut self.at)?);
            }
            self.at.expect('=')?;
        }
        let kind = self.instruction(body)?;
        let inst = body.add_inst(self, kind, names)?;
        if self.at.accept('!') {
            body.insts[inst].loc = self.loc()?;
        }
        self.at.end_statement()
    }

    /// The types of an instruction's results, from what it does or else from the text.
    fn types_of_results(&self, kind: &InstKind, names: &[ResultName<'t>]) -> Parsed<Vec<Type>> {
        let known = match kind {
            InstKind::Call { callee: Callee::Direct(id), .. } => Some(self.module.functions[*id].results.clone()),
            _ => kind.result_types().map(|types| types.to_vec()),
        };
        if let Some(types) = known {
            return match names.get(types.len()) {
                Some(extra) => self.at.error_at(extra.position, "the instruction does not yield so many results"),
                None => Ok(types),
            };
        }
        let untyped = names.iter().find(|name| name.ty.is_none());
        match untyped {
            Some(name) => self.at.error_at(name.position, "this result needs a type"),
            None => Ok(names.iter().filter_map(|name| name.ty).collect()),
        }
    }

    /// Gives every value and block its final number and fills the function.
    fn finish(&mut self, mut body: Body<'t>) -> Parsed<()> {
        if let Some(block) = body.blocks.values().find(|block| block.label.is_none()) {
            return self.at.error_at(block.position, format!("there is no block `{}`", block.word));
        }
        if let Some(value) = body.values.values().find(|value| value.def.is_none()) {
            return self.at.error_at(value.position, format!("`{}` is not defined", value.word));
        }
        let final_block = |block: Block| body.blocks[block].label.expect("all labels were checked above");
        let (numbers, count) = self.number_values(&body)?;
        for inst in body.insts.values_mut() {
            inst.kind.map_operands(|operand| match operand {
                Operand::Value(value) => Operand::Value(numbers[value]),
                other => other,
            });
            inst.kind.map_successors(final_block);
            inst.kind.map_phi_blocks(final_block);
            inst.results.iter_mut().for_each(|value| *value = numbers[*value]);
        }
        let loc = self.module.no_loc();
        let func = &mut self.module.functions[body.func];
        func.params = body.params.iter().map(|&param| numbers[param]).collect();
        func.blocks = body.order.iter().map(|&block| take_block(&mut body.blocks[block])).collect();
        func.insts = body.insts;
        let mut values: Vec<Option<ValueData>> = vec![None; count];
        for (value, pending) in body.values.iter() {
            let (ty, def) = pending.def.expect("all definitions were checked above");
            values[numbers[value].index()] = Some(ValueData { ty, def, name: pending.name.clone() });
        }
        func.values = fill_holes(values, &mut func.insts, loc);
        Ok(())
    }

    /// The final number of every value, and how many numbers there are in all.
    fn number_values(&mut self, body: &Body<'t>) -> Parsed<(EntityVec<Value, Value>, usize)> {
        let fixed = |pending: &PendingValue<'t>| cursor::index::<Value>("v", pending.word);
        let highest = body.values.values().filter_map(fixed).max();
        let count = body.values.len().max(highest.map_or(0, |value| value.index() + 1));
        let spare = count - body.values.len();
        if spare > self.spare_values {
            return self.at.error_before("the numbers of the values in this function leave too many unused");
        }
        self.spare_values -= spare;
        let mut taken = vec![false; count];
        body.values.values().filter_map(fixed).for_each(|value| taken[value.index()] = true);
        let mut free = (0..count).filter(|&n| !taken[n]);
        let mut numbers: EntityVec<Value, Option<Value>> = body.values.values().map(fixed).collect();
        // Parameters and results take free numbers in the order of their definitions.
        let results = body.order.iter().flat_map(|&block| &body.blocks[block].insts);
        let results = results.flat_map(|&inst| &body.insts[inst].results);
        for &value in body.params.iter().chain(results) {
            if numbers[value].is_none() {
                numbers[value] = free.next().map(Value::new);
            }
        }
        let numbers = numbers.values().map(|number| number.expect("there are at least as many numbers as values"));
        Ok((numbers.collect(), count))
    }
}

fn take_block(pending: &mut PendingBlock<'_>) -> BlockData {
    BlockData { name: std::mem::take(&mut pending.name), insts: std::mem::take(&mut pending.insts) }
}

/// Unused numbers become the results of one instruction that stands nowhere.
fn fill_holes(
    values: Vec<Option<ValueData>>,
    insts: &mut EntityVec<Inst, InstData>,
    loc: crate::LocId,
) -> EntityVec<Value, ValueData> {
    let holes = values.iter().enumerate().filter(|(_, value)| value.is_none()).map(|(n, _)| Value::new(n));
    let results: SmallVec<[Value; 1]> = holes.collect();
    if results.is_empty() {
        return values.into_iter().flatten().collect();
    }
    let owner = insts.push(InstData { kind: InstKind::Unsupported { feature: "unused".into() }, results, loc });
    let mut hole = 0;
    let fill = |value: Option<ValueData>| {
        value.unwrap_or_else(|| {
            let def = ValueDef::Result(owner, hole);
            hole += 1;
            ValueData { ty: Type::I1, def, name: String::new() }
        })
    };
    values.into_iter().map(fill).collect()
}
