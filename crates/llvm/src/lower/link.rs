//! Which definition each name means, over all modules.
//!
//! The rules are the linker's: a name that is visible has one definition; of several weak ones (`linkonce`, `weak`) the
//! first is taken, of tentative ones (`common`) the largest, and two strong ones are an error. Names that are local to
//! a module stay apart. A declaration that nothing defines stays a declaration, to be resolved by the machine's models.
//!
//! Every function and global gets its number here, with its signature, before anything is lowered, so that bodies and
//! initialisers can refer to each other in any order.

use super::{Program, Unit, is_llvm_symbol};
use crate::ast::{
    Alias, ConstId, ConstantKind, Expression, Function, GlobalVariable, Linkage, SymbolDefinition, SymbolId,
};
use crate::debug_info::DebugInfo;
use crate::error::{Fault, LoadError, Parsed};
use crate::lexer::{display_name, unescape};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_ir as ir;

/// What a symbol means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binding {
    /// A function.
    Func(ir::FuncId),
    /// A place in a global.
    Global(ir::GlobalId, i64),
    /// A weak reference that nothing defines.
    Null,
    /// One of LLVM's own names.
    Llvm,
    /// An ifunc, whose target is found at load time.
    IFunc,
}

/// What has to be lowered of a module: definitions that were chosen.
#[derive(Default)]
pub(crate) struct Bodies {
    /// Functions with their numbers.
    pub(crate) functions: Vec<(usize, ir::FuncId)>,
    /// Globals with their numbers.
    pub(crate) globals: Vec<(usize, ir::GlobalId)>,
}

/// A definition or declaration that a visible name may mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidate {
    unit: usize,
    definition: SymbolDefinition,
    strength: Strength,
    /// Size, which decides between tentative definitions.
    size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Strength {
    WeakDeclaration,
    Declaration,
    Copy,
    Weak,
    Common,
    Strong,
}

/// Resolves all symbols.
pub(crate) fn link<'m, 'a>(
    units: &mut [Unit<'m, 'a>],
    debugs: &mut [DebugInfo<'m, 'a>],
    program: &mut Program,
    locate: &dyn Fn(usize, Box<Fault>) -> LoadError,
) -> Result<Vec<Bodies>, LoadError> {
    let chosen = choose(units)?;
    let mut linker = Linker { chosen, visible: FxHashMap::default(), names: FxHashSet::default() };
    // Visible names first: they keep their spelling, local ones are renamed where they clash.
    linker.names.extend(linker.chosen.keys().cloned());
    let mut bodies: Vec<Bodies> = units.iter().map(|_| Bodies::default()).collect();
    for unit in units.iter_mut() {
        unit.bindings = vec![Binding::Llvm; unit.module.symbols.len()];
    }
    for n in 0..units.len() {
        for index in 0..units[n].module.symbols.len() {
            linker.bind_object(units, debugs, program, &mut bodies, n, SymbolId(index as u32));
        }
    }
    // Aliases last: they refer to what has a number by now.
    for n in 0..units.len() {
        linker.bind_aliases(units, n).map_err(|fault| locate(n, fault))?;
    }
    Ok(bodies)
}

/// Chooses a definition for each visible name.
fn choose(units: &[Unit<'_, '_>]) -> Result<FxHashMap<String, Candidate>, LoadError> {
    let mut chosen: FxHashMap<String, Candidate> = FxHashMap::default();
    for (n, unit) in units.iter().enumerate() {
        for (index, symbol) in unit.module.symbols.iter().enumerate() {
            let id = SymbolId(index as u32);
            if is_llvm_symbol(unit.module, id) || symbol.number.is_some() {
                continue;
            }
            let Some(candidate) = candidate(unit, n, symbol.definition) else {
                continue;
            };
            let name = display_name(symbol.name);
            match chosen.get_mut(&name) {
                None => {
                    chosen.insert(name, candidate);
                }
                Some(old) if old.strength == Strength::Strong && candidate.strength == Strength::Strong => {
                    let (a, b) = (&units[old.unit].module.file, &unit.module.file);
                    return Err(LoadError::Link { message: format!("`{name}` is defined in {a} and in {b}") });
                }
                Some(old) if (candidate.strength, candidate.size) > (old.strength, old.size) => {
                    // Only tentative definitions are compared by size.
                    if candidate.strength > old.strength || candidate.strength == Strength::Common {
                        *old = candidate;
                    }
                }
                Some(_) => {}
            }
        }
    }
    Ok(chosen)
}

/// What a symbol offers to other modules; none if it is local.
fn candidate(unit: &Unit<'_, '_>, n: usize, definition: SymbolDefinition) -> Option<Candidate> {
    let (linkage, is_definition, size) = match definition {
        SymbolDefinition::Variable(index) => {
            let variable = &unit.module.globals[index as usize];
            let size = unit.extents.get(&unit.module.types, variable.ty).map_or(0, |extent| extent.size);
            (variable.linkage, variable.initializer.is_some(), size)
        }
        SymbolDefinition::Function(index) => {
            let function = &unit.module.functions[index as usize];
            (function.linkage, !function.blocks.is_empty(), 0)
        }
        SymbolDefinition::Alias(index) => (unit.module.aliases[index as usize].linkage, true, 0),
        SymbolDefinition::Missing => return None,
    };
    let strength = match (is_definition, linkage) {
        (_, Linkage::Private | Linkage::Internal) => return None,
        (false, Linkage::ExternWeak) => Strength::WeakDeclaration,
        (false, _) => Strength::Declaration,
        (true, Linkage::AvailableExternally) => Strength::Copy,
        (true, Linkage::Weak | Linkage::LinkOnce) => Strength::Weak,
        (true, Linkage::Common) => Strength::Common,
        (true, _) => Strength::Strong,
    };
    Some(Candidate { unit: n, definition, strength, size })
}

struct Linker {
    chosen: FxHashMap<String, Candidate>,
    /// Numbers of visible names.
    visible: FxHashMap<String, Binding>,
    /// All names in use.
    names: FxHashSet<String>,
}

impl Linker {
    /// Binds a symbol that is a function or a variable.
    fn bind_object<'m, 'a>(
        &mut self,
        units: &mut [Unit<'m, 'a>],
        debugs: &mut [DebugInfo<'m, 'a>],
        program: &mut Program,
        bodies: &mut [Bodies],
        n: usize,
        symbol: SymbolId,
    ) {
        let module = units[n].module;
        if is_llvm_symbol(module, symbol) {
            return;
        }
        let own = module.symbols[symbol.index()].definition;
        let name = module.symbol_name(symbol);
        let is_visible = candidate(&units[n], n, own).is_some() && module.symbols[symbol.index()].number.is_none();
        let (unit, definition, strength) = match self.chosen.get(&name) {
            Some(chosen) if is_visible => (chosen.unit, chosen.definition, chosen.strength),
            _ => (n, own, Strength::Strong),
        };
        if is_visible && let Some(&known) = self.visible.get(&name) {
            units[n].bindings[symbol.index()] = known;
            return;
        }
        let unique = if is_visible { name.clone() } else { self.unique(&name) };
        let binding = match definition {
            SymbolDefinition::Function(_) | SymbolDefinition::Variable(_)
                if strength == Strength::WeakDeclaration && !is_thread_library(&name) =>
            {
                Binding::Null
            }
            SymbolDefinition::Function(index) => {
                let id = add_function(&units[unit], &mut debugs[unit], program, index as usize, unique);
                if !units[unit].module.functions[index as usize].blocks.is_empty() {
                    bodies[unit].functions.push((index as usize, id));
                }
                if is_visible {
                    program.functions.insert(name.clone(), id);
                }
                Binding::Func(id)
            }
            SymbolDefinition::Variable(index) => {
                let id = add_global(&units[unit], &mut debugs[unit], program, index as usize, unique);
                bodies[unit].globals.push((index as usize, id));
                Binding::Global(id, 0)
            }
            SymbolDefinition::Alias(_) | SymbolDefinition::Missing => return,
        };
        units[n].bindings[symbol.index()] = binding;
        if is_visible {
            self.visible.insert(name, binding);
        }
    }

    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_string();
        let mut n = 1;
        while !self.names.insert(unique.clone()) {
            unique = format!("{name}.{n}");
            n += 1;
        }
        unique
    }

    /// Binds the symbols of a module that mean aliases, its own or those of another module.
    fn bind_aliases(&mut self, units: &mut [Unit<'_, '_>], n: usize) -> Parsed<()> {
        for index in 0..units[n].module.symbols.len() {
            let symbol = SymbolId(index as u32);
            let own = units[n].module.symbols[index].definition;
            let is_numbered = units[n].module.symbols[index].number.is_some();
            let name = units[n].module.symbol_name(symbol);
            let (unit, definition) = match self.chosen.get(&name) {
                Some(chosen) if candidate(&units[n], n, own).is_some() && !is_numbered => {
                    (chosen.unit, chosen.definition)
                }
                _ => (n, own),
            };
            if let SymbolDefinition::Alias(alias) = definition {
                let binding = self.resolve_alias(units, unit, alias, 0)?;
                units[n].bindings[index] = binding;
            }
        }
        Ok(())
    }

    fn resolve_alias(&self, units: &[Unit<'_, '_>], n: usize, alias: u32, depth: u32) -> Parsed<Binding> {
        let alias: &Alias = &units[n].module.aliases[alias as usize];
        if alias.ifunc {
            return Ok(Binding::IFunc);
        }
        if depth > 32 {
            return Err(Fault::syntax(alias.offset, "this alias stands for itself"));
        }
        self.resolve_target(units, n, alias.target, alias.offset, depth)
    }

    fn resolve_target(
        &self,
        units: &[Unit<'_, '_>],
        n: usize,
        target: ConstId,
        offset: u32,
        depth: u32,
    ) -> Parsed<Binding> {
        let unit = &units[n];
        match &unit.module.constant(target).kind {
            ConstantKind::Symbol(symbol) => match unit.module.symbols[symbol.index()].definition {
                SymbolDefinition::Alias(next) => self.resolve_alias(units, n, next, depth + 1),
                _ => Ok(unit.bindings[symbol.index()]),
            },
            ConstantKind::Expression(expression) => match &**expression {
                Expression::Cast(_, inner) => self.resolve_target(units, n, *inner, offset, depth + 1),
                Expression::Gep { source, base, indices } => {
                    let base = self.resolve_target(units, n, *base, offset, depth + 1)?;
                    let bytes = super::constant::constant_gep_offset(unit, *source, indices);
                    match (base, bytes) {
                        (Binding::Global(id, at), Some(bytes)) => Ok(Binding::Global(id, at.wrapping_add(bytes))),
                        _ => Err(Fault::unsupported(offset, "an alias of a computed address")),
                    }
                }
                _ => Err(Fault::unsupported(offset, "an alias of a computed address")),
            },
            _ => Err(Fault::unsupported(offset, "an alias of something without an address")),
        }
    }
}

/// Weak references to the thread library are how libstdc++ asks whether a program has threads: it always has.
fn is_thread_library(name: &str) -> bool {
    ["pthread_", "__pthread_", "sem_"].iter().any(|prefix| name.starts_with(prefix))
}

fn add_function<'m, 'a>(
    unit: &Unit<'m, 'a>,
    debug: &mut DebugInfo<'m, 'a>,
    program: &mut Program,
    index: usize,
    name: String,
) -> ir::FuncId {
    let source: &Function<'a> = &unit.module.functions[index];
    let described = debug.function(source.debug, &mut program.module, &mut program.files);
    let mut function = ir::Function::new(name, program.module.no_loc());
    if let Some((source_name, loc)) = described {
        function.loc = loc;
        if !source_name.is_empty() {
            function.source_name = source_name;
        }
    }
    for param in &source.params {
        let label = param.local.and_then(|local| source.locals.get(local.index()));
        let label = label.map_or(String::new(), |local| display_name(local.name));
        for leaf in unit.shape(param.ty).iter().flat_map(|shape| shape.leaves.iter()) {
            function.add_param(leaf.ty, label.clone());
        }
    }
    if source.result != crate::types::TypeTable::VOID
        && let Ok(shape) = unit.shape(source.result)
    {
        function.results = shape.leaves.iter().map(|leaf| leaf.ty).collect();
    }
    function.vararg = source.variadic;
    program.module.functions.push(function)
}

fn add_global<'m, 'a>(
    unit: &Unit<'m, 'a>,
    debug: &mut DebugInfo<'m, 'a>,
    program: &mut Program,
    index: usize,
    name: String,
) -> ir::GlobalId {
    let source: &GlobalVariable<'a> = &unit.module.globals[index];
    let extent = unit.extents.get(&unit.module.types, source.ty);
    let described = debug.global(&source.debug, &mut program.module, &mut program.files);
    let (source_name, debug_type, loc) = match described {
        Some((variable, loc)) => (variable.name, variable.ty, loc),
        None => (literal_name(unit, source).unwrap_or_else(|| name.clone()), None, program.module.no_loc()),
    };
    let align = source.align.or(extent.map(|extent| extent.align)).unwrap_or(1);
    program.module.globals.push(ir::Global {
        name,
        source_name,
        size: extent.map_or(0, |extent| extent.size),
        align: u32::try_from(align).unwrap_or(1 << 31),
        data: Vec::new(),
        relocs: Vec::new(),
        constant: source.constant,
        thread_local: source.thread_local,
        external: source.initializer.is_none(),
        debug_type,
        loc,
    })
}

/// A string literal is named by its text.
fn literal_name(unit: &Unit<'_, '_>, source: &GlobalVariable<'_>) -> Option<String> {
    if source.linkage != Linkage::Private || !source.constant {
        return None;
    }
    if !matches!(unit.module.types.get(source.ty), Type::Array(..)) {
        return None;
    }
    let ConstantKind::String(raw) = unit.module.constant(source.initializer?).kind else {
        return None;
    };
    let bytes = unescape(raw);
    let text = String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).into_owned();
    let short: String = text.chars().take(24).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    Some(format!("{short:?}{dots}"))
}
