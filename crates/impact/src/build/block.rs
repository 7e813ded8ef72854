//! Blocks of memory: `memcpy`, `memmove` and `memset` of a known size, which assigning a structure is as well.
//!
//! What is copied are the cells of the destination that are accessed anywhere in the program: what nobody ever looks at
//! need not be copied. They are copied in *pieces* of at most eight bytes that are aligned at both ends, as the machine of
//! `check` does it. Other threads may come between two pieces, and between the read of a piece and its write; C
//! promises nothing else. So each visible access to a piece is a transition of its own, and the *phase* of a
//! location says how far the copy has come: twice the number of the piece, plus 1 between read and write.

use super::objects::{Cell, Place, Target, gcd, unsupported};
use super::path::{Ending, Path, Slot};
use super::run::At;
use super::{Builder, Unsupported};
use crate::program::{Access, ErrorKind, StepKind};
use crate::term::{Symbol, Term};
use selvedge_ir::{Inst, Type};

/// The most parts of a block.
const PARTS: usize = 128;

/// What a block is filled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// What is at this address.
    Memory(Term),
    /// This byte.
    Byte(Term),
}

/// A variable in a block: how far it is from its start, and how long it is.
type Part = (u64, u64);
/// Parts that are copied together.
type Piece = Vec<Part>;

impl Builder<'_> {
    /// Copies or fills a block. Whether that is done; otherwise the path ends in the middle of it.
    pub(super) fn block(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        to: Term,
        from: Source,
        len: Term,
    ) -> Result<bool, Unsupported> {
        let Some(len) = self.terms.constant(len) else {
            return Err(unsupported("copying or filling a block of memory whose size is not fixed", at.loc));
        };
        if len == 0 || from == Source::Memory(to) {
            return Ok(true);
        }
        if !self.inside(path, at, to, len)? {
            return Ok(false);
        }
        if let Source::Memory(from) = from {
            if !self.inside(path, at, from, len)? {
                return Ok(false);
            }
            self.refuse_overlap(at, to, from, len)?;
        }
        let parts = self.parts(at, to, len)?;
        let pieces = self.pieces(to, from, len, &parts);
        if pieces.is_empty() {
            return self.unread_block(path, todo, at, to, from);
        }
        let several = self.visible_accesses(path, at, to, from, &pieces)? > 1 && path.atomic == 0;
        while usize::from(path.phase / 2) < pieces.len() {
            let piece = &pieces[usize::from(path.phase / 2)];
            if !self.piece(path, todo, at, (to, from), piece, several)? {
                return Ok(false);
            }
        }
        path.phase = 0;
        Ok(true)
    }

    /// A block of which nobody reads anything: nothing is copied, but it must be there. Whether that is done.
    fn unread_block(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        to: Term,
        from: Source,
    ) -> Result<bool, Unsupported> {
        let mut mortal = Vec::new();
        for address in [Some(to), if let Source::Memory(from) = from { Some(from) } else { None }].into_iter().flatten()
        {
            let Some((place, _, parts)) = self.memory.find(&self.terms, address) else { continue };
            if !parts.is_empty() {
                return Err(unsupported("a block of memory at a variable place of which nothing is read", at.loc));
            }
            self.facts.users.entry(place).or_default().insert(path.thread);
            mortal.push((place, address == to));
        }
        mortal.retain(|&(place, _)| self.memory.layouts.is_freed(place) || matches!(place, Place::Stack(..)));
        let counts = mortal.iter().any(|&(place, _)| self.memory.layouts.is_shared(place));
        if counts && !self.visible(path) {
            return Ok(false);
        }
        if counts {
            let kind = if mortal.iter().any(|&(_, write)| write) { StepKind::Store } else { StepKind::Load };
            path.step(at.func, at.inst, kind, at.loc);
        }
        for (place, write) in mortal {
            let name = self.place_name(place);
            if self.memory.layouts.is_shared(place) {
                let object = self.object(&name);
                path.accesses.push(Access { object, bytes: None, write });
            }
            if !self.must_live(path, todo, at, place, "") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a block is inside of its object, as far as that can be said here; otherwise the path ends with an error.
    fn inside(&mut self, path: &mut Path, at: At, address: Term, len: u64) -> Result<bool, Unsupported> {
        let Some((place, offset, parts)) = self.memory.find(&self.terms, address) else {
            // The error is the same as that of an access to the first byte.
            return Ok(self.locate(path, at, address, 1, "")?.is_some());
        };
        let total = self.memory.size(place);
        if parts.is_empty() && (offset < 0 || (offset as u64).checked_add(len).is_none_or(|end| end > total)) {
            let name = self.place_name(place);
            path.fail(ErrorKind::OutOfBounds, format!("a block that reaches outside of `{name}`"), at.loc);
            return Ok(false);
        }
        if len > total {
            return Err(unsupported("a block of memory at a variable place that is longer than its object", at.loc));
        }
        Ok(true)
    }

    /// Two blocks that overlap would have to be copied from the right end.
    fn refuse_overlap(&self, at: At, to: Term, from: Term, len: u64) -> Result<(), Unsupported> {
        let find = |address| self.memory.find(&self.terms, address);
        let (Some((place, offset, parts)), Some((other, start, others))) = (find(to), find(from)) else {
            return Ok(());
        };
        let apart = parts.is_empty() && others.is_empty() && offset.abs_diff(start) >= len;
        // Elements of one array are apart or the same; copied onto itself, an element stays what it is.
        let elements =
            self.memory.layouts.stride(place).is_some_and(|stride| {
                len <= stride && offset.rem_euclid(stride as i64) == start.rem_euclid(stride as i64)
            });
        if place == other && !apart && !elements {
            return Err(unsupported("copying within one object", at.loc));
        }
        Ok(())
    }

    /// The parts of a block: the cells of it that the program accesses, as far as the build before knew.
    fn parts(&mut self, at: At, address: Term, len: u64) -> Result<Vec<Part>, Unsupported> {
        let Some((place, offset, _)) = self.memory.find(&self.terms, address) else { return Ok(Vec::new()) };
        let stride = self.memory.layouts.stride(place);
        let mut parts: Vec<Part> = Vec::new();
        for (field, size) in self.memory.layouts.cells(place) {
            let (first, step) = match stride {
                None => (field as i64, len.max(size) as i64),
                Some(stride) => ((field % stride) as i64, stride as i64),
            };
            // The first occurrence that reaches into the block.
            let mut cell = match stride {
                None => first,
                Some(_) => first + (offset - first - size as i64 + step).div_euclid(step) * step,
            };
            while cell < offset + len as i64 {
                if cell + size as i64 > offset {
                    if cell < offset || (cell + size as i64) > offset + len as i64 {
                        return Err(unsupported("a block of memory that ends in the middle of a variable", at.loc));
                    }
                    parts.push(((cell - offset) as u64, size));
                }
                if stride.is_none() {
                    break;
                }
                cell += step;
                if parts.len() > PARTS {
                    return Err(unsupported(format!("a block of memory of more than {PARTS} parts"), at.loc));
                }
            }
        }
        parts.sort_unstable();
        parts.dedup();
        if parts.len() > PARTS {
            return Err(unsupported(format!("a block of memory of more than {PARTS} parts"), at.loc));
        }
        if parts.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
            return Err(unsupported("memory that is accessed in parts of different sizes", at.loc));
        }
        Ok(parts)
    }

    /// The parts by pieces. A part that is not within one piece makes a longer one.
    fn pieces(&self, to: Term, from: Source, len: u64, parts: &[Part]) -> Vec<Piece> {
        let mut aligned = self.alignment(to);
        let (mut starts, mut done) = (Vec::new(), 0);
        let to_offset = self.offset(to);
        let from_offset = match from {
            Source::Memory(from) => {
                aligned = aligned.min(self.alignment(from));
                self.offset(from)
            }
            Source::Byte(_) => to_offset,
        };
        while done < len {
            starts.push(done);
            let fits = |size: &u64| {
                *size <= len - done
                    && *size <= aligned
                    && (to_offset + done).is_multiple_of(*size)
                    && (from_offset + done).is_multiple_of(*size)
            };
            done += [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut end = 0;
        for &(offset, size) in parts {
            let piece_of = |at: u64| starts.partition_point(|&start| start <= at);
            match pieces.last_mut() {
                Some(piece) if piece_of(end - 1) == piece_of(offset) => piece.push((offset, size)),
                _ => pieces.push(vec![(offset, size)]),
            }
            end = offset + size;
        }
        pieces
    }

    /// The fixed part of an address, within its object.
    fn offset(&self, address: Term) -> u64 {
        self.memory.find(&self.terms, address).map_or(0, |(_, offset, _)| offset as u64)
    }

    /// What the variable part of an address is a multiple of; at most 8.
    fn alignment(&self, address: Term) -> u64 {
        let parts = self.memory.find(&self.terms, address).map_or(Vec::new(), |(_, _, parts)| parts);
        parts.iter().fold(8, |aligned, &(factor, _)| gcd(aligned, (factor as i64).unsigned_abs()))
    }

    /// How many accesses of a block others could notice.
    fn visible_accesses(
        &mut self,
        path: &mut Path,
        at: At,
        to: Term,
        from: Source,
        pieces: &[Piece],
    ) -> Result<usize, Unsupported> {
        let mut count = 0;
        for piece in pieces {
            let (mut reads, mut writes) = (false, false);
            for &(offset, size) in piece {
                let mut look = |address: Term, write: bool| -> Result<bool, Unsupported> {
                    let address = self.terms.add_constant(address, offset);
                    let Some(target) = self.locate(path, at, address, size, "")? else { return Ok(false) };
                    self.touch(path, &target, write);
                    Ok(self.is_visible(&target))
                };
                writes |= look(to, true)?;
                if let Source::Memory(from) = from {
                    reads |= look(from, false)?;
                }
            }
            count += usize::from(reads) + usize::from(writes);
        }
        Ok(count)
    }

    /// One piece, or what is left of it. Whether it is done.
    fn piece(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        (to, from): (Term, Source),
        piece: &[Part],
        several: bool,
    ) -> Result<bool, Unsupported> {
        if path.phase.is_multiple_of(2) {
            if let Source::Memory(from) = from
                && !self.read_piece(path, todo, at, (to, from), piece, several)?
            {
                return Ok(false);
            }
            path.phase += 1;
        }
        let mut started = false;
        for (n, &(offset, size)) in piece.iter().enumerate() {
            let bits = (size * 8) as u8;
            let value = match from {
                Source::Byte(byte) => Some(self.filled(byte, bits)),
                Source::Memory(_) => {
                    let kept = self.kept(path, at.inst, n);
                    let value = path.env.get(&Slot::Cell(kept)).copied();
                    value.map(|value| self.terms.extract(0, bits, value))
                }
            };
            let Some(value) = value else {
                // What was never written stays so in the copy.
                self.forget(path, at, to, offset, size)?;
                continue;
            };
            let address = self.terms.add_constant(to, offset);
            let Some(target) = self.part(path, todo, at, address, size, (true, several, &mut started))? else {
                return Ok(false);
            };
            self.write(path, &target, value);
            let text = format!("{} = {}", self.target_name(&target), self.terms.text(value));
            self.say(path, &target, text);
        }
        for n in 0..piece.len() {
            let kept = self.kept(path, at.inst, n);
            path.env.remove(&Slot::Cell(kept));
        }
        path.phase += 1;
        Ok(true)
    }

    /// Reads a piece, and keeps what it reads. Whether that is done.
    fn read_piece(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        (to, from): (Term, Term),
        piece: &[Part],
        several: bool,
    ) -> Result<bool, Unsupported> {
        let mut started = false;
        for (n, &(offset, size)) in piece.iter().enumerate() {
            let address = self.terms.add_constant(from, offset);
            let Some(target) = self.part(path, todo, at, address, size, (false, several, &mut started))? else {
                return Ok(false);
            };
            let kept = self.kept(path, at.inst, n);
            match self.copied(path, at, &target, (size * 8) as u8) {
                Some(value) => {
                    let value = self.terms.zext(value, 64);
                    path.env.insert(Slot::Cell(kept), value);
                }
                None => {
                    // Nothing of it may come together with paths on which it was written.
                    self.forget(path, at, to, offset, size)?;
                    path.env.remove(&Slot::Cell(kept));
                }
            }
        }
        Ok(path.ending == Ending::Running)
    }

    /// The target of an access to a part of a piece; the access to the piece may have started. None if the path ends here.
    fn part(
        &mut self,
        path: &mut Path,
        todo: &mut Vec<Path>,
        at: At,
        address: Term,
        size: u64,
        (write, several, started): (bool, bool, &mut bool),
    ) -> Result<Option<Target>, Unsupported> {
        let Some(target) = self.locate(path, at, address, size, "")? else { return Ok(None) };
        self.touch(path, &target, write);
        if write && self.is_constant(path, at, &target) {
            return Ok(None);
        }
        if self.is_visible(&target) {
            if !*started && !self.visible(path) {
                return Ok(None);
            }
            *started = true;
            let kind = match (several, write) {
                (true, _) => StepKind::Piece,
                (false, true) => StepKind::Store,
                (false, false) => StepKind::Load,
            };
            // A piece is one step; in an atomic section, the whole block is.
            if path.steps.last().is_none_or(|step| step.inst != at.inst || step.func != at.func) {
                path.step(at.func, at.inst, kind, at.loc);
            }
            if !write {
                self.say(path, &target, format!("read {}", self.target_name(&target)));
            }
            let name = self.place_name(target.place);
            let object = self.object(&name);
            path.accesses.push(Access { object, bytes: target.bytes, write });
        }
        let name = self.place_name(target.place);
        if !self.may_be_accessed(path, todo, at, &target, &name) {
            return Ok(None);
        }
        Ok(Some(target))
    }

    /// The value of a piece; none if it was never written, which a copy does not mind.
    fn copied(&mut self, path: &mut Path, at: At, target: &Target, bits: u8) -> Option<Term> {
        let unwritten = match target.cell {
            Cell::Scalar(symbol) if !matches!(target.place, Place::Global(_)) => {
                let written = self.memory.layouts.is_written(target.place, target.offset);
                let shared = self.memory.layouts.is_shared(target.place);
                let zeroed = self.memory.layouts.is_zeroed(target.place);
                !zeroed && (!written || (!shared && !path.env.contains_key(&Slot::Cell(symbol))))
            }
            _ => false,
        };
        if unwritten {
            return None;
        }
        let value = self.read(path, at, target, Type::Int(bits));
        let Some(written) = self.is_written_now(path, target) else { return Some(value) };
        // If it was not written yet, the copy is anything.
        if self.terms.is_true(written) {
            return Some(value);
        }
        let anything = self.input(path, "anything", bits);
        Some(self.terms.ite(written, value, anything))
    }

    /// The destination of a piece that was never written.
    fn forget(&mut self, path: &mut Path, at: At, to: Term, offset: u64, size: u64) -> Result<(), Unsupported> {
        let address = self.terms.add_constant(to, offset);
        let Some(target) = self.locate(path, at, address, size, "")? else { return Ok(()) };
        match target.cell {
            Cell::Scalar(symbol)
                if !matches!(target.place, Place::Global(_)) && !self.memory.layouts.is_shared(target.place) =>
            {
                path.env.remove(&Slot::Cell(symbol));
                self.note_written(path, &target, false);
                Ok(())
            }
            _ => Err(unsupported("a copy of a variable that was never written", at.loc)),
        }
    }

    /// A byte as often as it fits.
    fn filled(&mut self, byte: Term, bits: u8) -> Term {
        let low = self.terms.extract(0, 8, byte);
        let wide = self.terms.zext(low, bits);
        let ones = self.terms.number(0x0101_0101_0101_0101, bits);
        self.terms.mul(wide, ones)
    }

    /// The variable in which a thread keeps the n-th part of a piece between read and write.
    fn kept(&mut self, path: &Path, inst: Inst, n: usize) -> Symbol {
        let place = Place::Stack(path.context, inst);
        self.own((path.thread, place, n as u64), &format!("{}.copied", self.thread_name(path.thread)), 64)
    }
}
