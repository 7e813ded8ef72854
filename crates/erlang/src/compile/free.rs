//! Free variables, and the local functions that are used.

use crate::core::{Expr, FunDef, Kind, LocalFn, Pattern, Segment, Var};
use std::collections::BTreeSet;

/// What functions use. As variables have numbers of their own, what is free is what is used and not bound inside.
#[derive(Default)]
pub struct Free {
    used: BTreeSet<Var>,
    bound: BTreeSet<Var>,
    functions: BTreeSet<LocalFn>,
}

impl Free {
    /// The variables that come from around.
    pub fn variables(&self) -> impl Iterator<Item = Var> + '_ {
        self.used.difference(&self.bound).copied()
    }

    /// The local functions that are used.
    pub fn functions(&self) -> impl Iterator<Item = LocalFn> + '_ {
        self.functions.iter().copied()
    }

    /// Adds a function.
    pub fn fun(&mut self, definition: &FunDef) {
        self.bound.extend(&definition.params);
        self.expr(&definition.body);
    }

    fn exprs(&mut self, exprs: &[Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Literal(_) | Kind::ModuleFn(..) => {}
            Kind::Var(var) => {
                self.used.insert(*var);
            }
            Kind::LocalFn(id) => {
                self.functions.insert(*id);
            }
            Kind::Cons(head, tail) => {
                self.expr(head);
                self.expr(tail);
            }
            Kind::Tuple(items) | Kind::Values(items) | Kind::Primop(_, items) => self.exprs(items),
            Kind::Map(base, pairs) => {
                self.expr(base);
                for (_, key, value) in pairs {
                    self.expr(key);
                    self.expr(value);
                }
            }
            Kind::Binary(segments) => {
                for segment in segments {
                    self.expr(&segment.size);
                    self.expr(&segment.value);
                }
            }
            Kind::Fun(definition) => self.fun(definition),
            Kind::Let(vars, arg, then) => {
                self.bound.extend(vars);
                self.expr(arg);
                self.expr(then);
            }
            Kind::Seq(first, then) => {
                self.expr(first);
                self.expr(then);
            }
            Kind::Letrec(definitions, then, _) => {
                for (_, definition) in definitions {
                    self.fun(definition);
                }
                self.expr(then);
            }
            Kind::Case(arg, clauses) => {
                self.expr(arg);
                for clause in clauses {
                    for pattern in &clause.patterns {
                        self.pattern(pattern);
                    }
                    self.expr(&clause.guard);
                    self.expr(&clause.body);
                }
            }
            Kind::Apply(function, args) => {
                self.expr(function);
                self.exprs(args);
            }
            Kind::Call(module, name, args) => {
                self.expr(module);
                self.expr(name);
                self.exprs(args);
            }
            Kind::Try(arg, vars, then, evars, handler) => {
                self.bound.extend(vars);
                self.bound.extend(evars);
                self.expr(arg);
                self.expr(then);
                self.expr(handler);
            }
            Kind::Catch(arg) => self.expr(arg),
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Var(var) => {
                self.bound.insert(*var);
            }
            Pattern::Literal(_) => {}
            Pattern::Cons(head, tail) => {
                self.pattern(head);
                self.pattern(tail);
            }
            Pattern::Tuple(items) => items.iter().for_each(|item| self.pattern(item)),
            Pattern::Map(pairs) => {
                for (key, value) in pairs {
                    self.expr(key);
                    self.pattern(value);
                }
            }
            Pattern::Binary(segments) => {
                for Segment { value, size, .. } in segments {
                    self.expr(size);
                    self.pattern(value);
                }
            }
            Pattern::Alias(var, pattern) => {
                self.bound.insert(*var);
                self.pattern(pattern);
            }
        }
    }
}
