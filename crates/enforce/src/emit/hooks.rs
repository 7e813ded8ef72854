//! Calls of the run-time around named instructions.
//!
//! | call | when |
//! |---|---|
//! | `__selvedge_at(site)` | before the instruction: returns when it is its turn |
//! | `__selvedge_done(site)` | after it: others may go on |
//! | `__selvedge_branch(site, n)` | before a branch that goes to its n-th successor |

use super::Emitter;
use selvedge_ir::{Block, EntityRef, FuncId, Inst, InstKind, Type, entity};
use std::collections::HashMap;
use std::fmt::Write;

entity! {
    /// An instruction that a schedule names.
    SiteId, "site"
}

/// What becomes of a named instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// It is executed when it is its turn.
    Around,
    /// It does not return: others may go on as soon as it is its turn.
    Before,
    /// A branch: the run-time is told where it goes.
    Branch,
    /// An operation of synchronisation that the schedule makes redundant: left out, its result is 0.
    Omit,
    /// As `Omit`, but the schedule has it as this many events.
    Turns(u32),
    /// A wait for a condition variable: the mutex is released in one event and taken again in the next.
    Wait,
}

/// The named instructions of a program.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    /// Each with its number and what becomes of it.
    pub treated: HashMap<(FuncId, Inst), (SiteId, Treatment)>,
}

impl Emitter<'_> {
    /// What becomes of an instruction, if it is named.
    pub(super) fn treatment(&self, func: FuncId, inst: Inst) -> Option<(SiteId, Treatment)> {
        self.sites.treated.get(&(func, inst)).copied()
    }

    /// Waits for the turn of a site.
    pub(super) fn at(&mut self, site: SiteId) {
        self.hook("__selvedge_at", site);
    }

    /// Ends the turn of a site.
    pub(super) fn done(&mut self, site: SiteId) {
        self.hook("__selvedge_done", site);
    }

    fn hook(&mut self, name: &str, site: SiteId) {
        self.need(name, format!("void @{name}(i32)"));
        let _ = writeln!(self.out, "  call void @{name}(i32 {})", site.index());
    }

    /// Tells the run-time where a branch goes.
    pub(super) fn branch(&mut self, func: FuncId, inst: Inst, site: SiteId) {
        let name = "__selvedge_branch";
        self.need(name, format!("void @{name}(i32, i32)"));
        let successor = self.successor(func, inst);
        let _ = writeln!(self.out, "  call void @{name}(i32 {}, i32 {successor})", site.index());
    }

    /// The number of the successor that a branch goes to, as `InstKind::successors` counts them.
    fn successor(&mut self, func: FuncId, inst: Inst) -> String {
        let kind = &self.module.functions[func].insts[inst].kind;
        let prefix = format!("%succ.{}", inst.index());
        match kind {
            InstKind::CondBr { cond, .. } => {
                let cond = self.operand(Type::I1, *cond);
                let _ = writeln!(self.out, "  {prefix} = select i1 {cond}, i32 0, i32 1");
                prefix
            }
            InstKind::Switch { ty, value, cases, .. } => {
                let mut last = cases.len().to_string();
                let (value, ty) = (self.operand(*ty, *value), self.ty(*ty));
                // From the last case to the first: where two are equal, the first one counts.
                for (n, (case, _)) in cases.iter().enumerate().rev() {
                    let _ = writeln!(self.out, "  {prefix}.is{n} = icmp eq {ty} {value}, {case}");
                    let _ = writeln!(self.out, "  {prefix}.{n} = select i1 {prefix}.is{n}, i32 {n}, i32 {last}");
                    last = format!("{prefix}.{n}");
                }
                last
            }
            _ => "0".to_owned(),
        }
    }

    /// The name of a block.
    pub(super) fn label(block: Block) -> String {
        format!("%{block}")
    }
}
