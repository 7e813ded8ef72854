//! Source positions, source names and source-level types from LLVM's debug information.
//!
//! Everything here is best effort: metadata may be missing, incomplete or damaged without changing the program, so a
//! question that cannot be answered is answered with nothing. Chains (scopes, typedefs, inlined-at) are followed for a
//! bounded number of steps, since a damaged file may close them into a ring.

use crate::ast::{Metadata, Module, Node};
use crate::lexer::display_name;
use rustc_hash::FxHashMap;
use selvedge_ir as ir;
use std::path::Path;

/// How many steps of a chain are followed.
const MAX_CHAIN: usize = 256;

/// How deeply types may nest.
const MAX_TYPE_DEPTH: usize = 64;

/// Answers questions about one module's debug information, and puts the answers into the program's tables.
pub struct DebugInfo<'m, 'a> {
    module: &'m Module<'a>,
    /// Whether the source is C, where records are named with their keyword.
    is_c: bool,
    locs: FxHashMap<usize, ir::LocId>,
    /// File and function of a scope.
    scopes: FxHashMap<usize, (Option<ir::FileId>, String)>,
    types: FxHashMap<usize, ir::TypeId>,
}

/// The name of a file as the user would give it. If a file lies elsewhere, clang may split its name at what its directory
/// and the present one have in common: then the first part is needed to find it.
fn whole_name(name: String, directory: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let above = !directory.is_empty() && here != Path::new(directory) && here.starts_with(directory);
    match Path::new(directory).join(&name).to_str() {
        Some(whole) if above && Path::new(&name).is_relative() => whole.to_owned(),
        _ => name,
    }
}

/// Tables that all modules of a program share: each file is listed once.
#[derive(Default)]
pub struct FileTable {
    files: FxHashMap<(String, String), ir::FileId>,
}

/// A variable of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type if described.
    pub ty: Option<ir::TypeId>,
}

impl<'m, 'a> DebugInfo<'m, 'a> {
    /// Debug information of a module.
    pub fn new(module: &'m Module<'a>) -> Self {
        let unit = module.nodes.iter().find(|node| node.kind == "DICompileUnit");
        let is_c = match unit.and_then(|unit| unit.field("language")) {
            Some(Metadata::Word(word)) => word.starts_with("DW_LANG_C") && !word.contains("plus_plus"),
            _ => false,
        };
        DebugInfo {
            module,
            is_c,
            locs: FxHashMap::default(),
            scopes: FxHashMap::default(),
            types: FxHashMap::default(),
        }
    }

    fn node(&self, metadata: Option<Metadata<'a>>) -> Option<&'m Node<'a>> {
        self.module.node(metadata?)
    }

    /// A key that identifies a node: its address in the arena, as an index.
    fn key(&self, metadata: Metadata<'a>) -> Option<usize> {
        match metadata {
            Metadata::Node(id) => Some(id.index()),
            Metadata::Number(number) => Some(self.module.numbered.get(&number)?.index()),
            _ => None,
        }
    }

    /// The source position that a `!DILocation` describes.
    pub fn location(
        &mut self,
        location: Option<Metadata<'a>>,
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> ir::LocId {
        // The chain of inlining, innermost first; the outermost is entered first.
        let mut chain = Vec::new();
        let mut next = location;
        let mut outer = None;
        while let Some((metadata, key)) = next.and_then(|m| Some((m, self.key(m)?))) {
            if let Some(&known) = self.locs.get(&key) {
                outer = Some(known);
                break;
            }
            let Some(node) = self.node(Some(metadata)).filter(|node| node.kind == "DILocation") else {
                break;
            };
            chain.push((key, node));
            if chain.len() > MAX_CHAIN {
                break;
            }
            next = node.field("inlinedAt");
        }
        for (key, node) in chain.into_iter().rev() {
            let (file, function) = self.scope(node.field("scope"), program, files);
            let loc = ir::SourceLoc {
                file,
                line: int(node.field("line")).unwrap_or(0) as u32,
                column: int(node.field("column")).unwrap_or(0) as u32,
                function,
                inlined_at: outer,
            };
            let id = program.locs.push(loc);
            self.locs.insert(key, id);
            outer = Some(id);
        }
        outer.unwrap_or_else(|| program.no_loc())
    }

    /// File and function of a scope.
    fn scope(
        &mut self,
        scope: Option<Metadata<'a>>,
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> (Option<ir::FileId>, String) {
        let key = scope.and_then(|scope| self.key(scope));
        if let Some(known) = key.and_then(|key| self.scopes.get(&key)) {
            return known.clone();
        }
        let found = (self.file_of_scope(scope, program, files), self.function_of_scope(scope));
        if let Some(key) = key {
            self.scopes.insert(key, found.clone());
        }
        found
    }

    fn file_of_scope(
        &self,
        scope: Option<Metadata<'a>>,
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> Option<ir::FileId> {
        let mut scope = scope;
        for _ in 0..MAX_CHAIN {
            let node = self.node(scope)?;
            if let Some(file) = self.node(node.field("file")) {
                return Some(self.file(file, program, files));
            }
            scope = node.field("scope");
        }
        None
    }

    fn file(&self, node: &Node<'a>, program: &mut ir::Module, files: &mut FileTable) -> ir::FileId {
        let name = text(node.field("filename")).unwrap_or_default();
        let directory = text(node.field("directory")).unwrap_or_default();
        let name = whole_name(name, &directory);
        *files.files.entry((name, directory)).or_insert_with_key(|(name, directory)| {
            program.files.push(ir::SourceFile { name: name.clone(), directory: directory.clone() })
        })
    }

    fn function_of_scope(&self, scope: Option<Metadata<'a>>) -> String {
        let mut scope = scope;
        for _ in 0..MAX_CHAIN {
            match self.node(scope) {
                Some(node) if node.kind == "DISubprogram" => return self.qualified_name(node),
                Some(node) => scope = node.field("scope"),
                None => break,
            }
        }
        String::new()
    }

    /// A name with the classes and namespaces around it.
    fn qualified_name(&self, node: &Node<'a>) -> String {
        let mut name = text(node.field("name")).unwrap_or_default();
        let mut scope = node.field("scope");
        for _ in 0..MAX_CHAIN {
            let Some(outer) = self.node(scope) else {
                break;
            };
            if matches!(outer.kind, "DINamespace" | "DICompositeType")
                && let Some(outer_name) = text(outer.field("name")).filter(|outer_name| !outer_name.is_empty())
            {
                name = format!("{outer_name}::{name}");
            }
            if matches!(outer.kind, "DISubprogram" | "DIFile" | "DICompileUnit") {
                break;
            }
            scope = outer.field("scope");
        }
        name
    }

    /// Source name and position of a function, from its `!DISubprogram`.
    pub fn function(
        &self,
        subprogram: Option<Metadata<'a>>,
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> Option<(String, ir::LocId)> {
        let node = self.node(subprogram).filter(|node| node.kind == "DISubprogram")?;
        let name = self.qualified_name(node);
        let loc = self.declaration(node, name.clone(), program, files);
        Some((name, loc))
    }

    /// The position of a declaration: file and line.
    fn declaration(
        &self,
        node: &Node<'a>,
        function: String,
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> ir::LocId {
        let file = self.node(node.field("file")).map(|file| self.file(file, program, files));
        let line = int(node.field("line")).unwrap_or(0) as u32;
        program.locs.push(ir::SourceLoc { file, line, column: 0, function, inlined_at: None })
    }

    /// The type that a function returns, from its `!DISubprogram`.
    pub fn result_type(&mut self, subprogram: Option<Metadata<'a>>, program: &mut ir::Module) -> Option<ir::TypeId> {
        let signature = self.node(self.node(subprogram)?.field("type"))?;
        let types = self.node(signature.field("types"))?;
        let &(_, result) = types.fields.first()?;
        self.ty(Some(result), program)
    }

    /// The variable that a `!DILocalVariable` describes.
    pub fn variable(&mut self, variable: Metadata<'a>, program: &mut ir::Module) -> Option<Variable> {
        let node = self.node(Some(variable)).filter(|node| node.kind == "DILocalVariable")?;
        let name = text(node.field("name")).filter(|name| !name.is_empty())?;
        Some(Variable { name, ty: self.ty(node.field("type"), program) })
    }

    /// Name, type and position of a global, from its `!DIGlobalVariableExpression`.
    pub fn global(
        &mut self,
        debug: &[Metadata<'a>],
        program: &mut ir::Module,
        files: &mut FileTable,
    ) -> Option<(Variable, ir::LocId)> {
        let expression = self.node(debug.first().copied())?;
        let node = match expression.kind {
            "DIGlobalVariableExpression" => self.node(expression.field("var"))?,
            _ => expression,
        };
        let name = self.qualified_name(node);
        let name = if name.is_empty() { text(node.field("linkageName"))? } else { name };
        let loc = self.declaration(node, String::new(), program, files);
        Some((Variable { name, ty: self.ty(node.field("type"), program) }, loc))
    }

    /// Whether an expression says that the value is the variable itself.
    pub fn is_plain(&self, expression: Metadata<'a>) -> bool {
        self.node(Some(expression)).is_some_and(|node| node.fields.is_empty())
    }

    /// A source-level type.
    pub fn ty(&mut self, metadata: Option<Metadata<'a>>, program: &mut ir::Module) -> Option<ir::TypeId> {
        self.ty_inner(metadata, "", program, 0)
    }

    fn ty_inner(
        &mut self,
        metadata: Option<Metadata<'a>>,
        alias: &str,
        program: &mut ir::Module,
        depth: usize,
    ) -> Option<ir::TypeId> {
        let key = self.key(metadata?)?;
        if let Some(&known) = self.types.get(&key) {
            return Some(known);
        }
        if depth > MAX_TYPE_DEPTH {
            return None;
        }
        let node = self.node(metadata)?;
        if node.kind == "DIDerivedType" && is_transparent(node) {
            let name = text(node.field("name")).unwrap_or_default();
            let alias = if name.is_empty() { alias } else { &name };
            let ty = self.ty_inner(node.field("baseType"), alias, program, depth + 1);
            if let Some(ty) = ty {
                self.types.insert(key, ty);
            }
            return ty;
        }
        // Entered before its parts, because a record may point to itself.
        let name = self.type_name(node, alias);
        let id = program.types.push(ir::DebugType::Opaque { name: name.clone() });
        self.types.insert(key, id);
        if let Some(ty) = self.build(node, name, program, depth) {
            program.types[id] = ty;
        }
        Some(id)
    }

    fn type_name(&self, node: &Node<'a>, alias: &str) -> String {
        let name = text(node.field("name")).unwrap_or_default();
        if name.is_empty() {
            return alias.to_string();
        }
        let keyword = match tag(node) {
            _ if !self.is_c => "",
            "DW_TAG_structure_type" => "struct ",
            "DW_TAG_union_type" => "union ",
            "DW_TAG_enumeration_type" => "enum ",
            _ => "",
        };
        format!("{keyword}{name}")
    }

    fn build(
        &mut self,
        node: &'m Node<'a>,
        name: String,
        program: &mut ir::Module,
        depth: usize,
    ) -> Option<ir::DebugType> {
        let size = bytes(node.field("size"));
        match (node.kind, tag(node)) {
            ("DIBasicType", _) => {
                let encoding = word(node.field("encoding")).unwrap_or("");
                Some(ir::DebugType::Base {
                    name,
                    size,
                    signed: encoding.starts_with("DW_ATE_signed"),
                    float: encoding.ends_with("float"),
                })
            }
            ("DIDerivedType", _) => {
                let to = self.ty_inner(node.field("baseType"), "", program, depth + 1);
                Some(ir::DebugType::Pointer { to })
            }
            ("DICompositeType", "DW_TAG_array_type") => self.array(node, program, depth),
            ("DICompositeType", "DW_TAG_enumeration_type") => {
                Some(ir::DebugType::Enum { name, size, variants: self.enumerators(node) })
            }
            ("DICompositeType", tag) => {
                let fields = self.fields(node, program, depth);
                Some(ir::DebugType::Record { name, size, fields, union: tag == "DW_TAG_union_type" })
            }
            _ => None,
        }
    }

    /// The members of a tuple-valued field.
    fn elements(&self, node: &Node<'a>) -> Vec<&'m Node<'a>> {
        match self.node(node.field("elements")) {
            Some(tuple) => tuple.fields.iter().filter_map(|&(_, element)| self.node(Some(element))).collect(),
            None => Vec::new(),
        }
    }

    fn array(&mut self, node: &'m Node<'a>, program: &mut ir::Module, depth: usize) -> Option<ir::DebugType> {
        let base = node.field("baseType");
        let mut element = self.ty_inner(base, "", program, depth + 1)?;
        let mut element_size = self.size_of(base);
        let counts: Vec<Option<u64>> = self
            .elements(node)
            .iter()
            .map(|range| int(range.field("count")).and_then(|count| u64::try_from(count).ok()))
            .collect();
        // `int a[2][3]` is one node with two ranges: the inner ones become types of their own.
        for &count in counts.iter().skip(1).rev() {
            element = program.types.push(ir::DebugType::Array { element, element_size, count });
            element_size = element_size.saturating_mul(count.unwrap_or(0));
        }
        Some(ir::DebugType::Array { element, element_size, count: counts.first().copied().flatten() })
    }

    fn enumerators(&self, node: &Node<'a>) -> Vec<(i64, String)> {
        self.elements(node)
            .into_iter()
            .filter_map(|e| Some((int(e.field("value"))? as i64, text(e.field("name"))?)))
            .collect()
    }

    fn fields(&mut self, node: &Node<'a>, program: &mut ir::Module, depth: usize) -> Vec<ir::Field> {
        let mut fields = Vec::new();
        for member in self.elements(node) {
            let is_static = word(member.field("flags")).is_some_and(|flags| flags.contains("StaticMember"));
            if member.kind != "DIDerivedType"
                || is_static
                || !matches!(tag(member), "DW_TAG_member" | "DW_TAG_inheritance")
            {
                continue;
            }
            let Some(ty) = self.ty_inner(member.field("baseType"), "", program, depth + 1) else {
                continue;
            };
            let own = bytes(member.field("size"));
            fields.push(ir::Field {
                name: text(member.field("name")).unwrap_or_default(),
                offset: int(member.field("offset")).unwrap_or(0) as u64 / 8,
                ty,
                size: if own > 0 { own } else { self.size_of(member.field("baseType")) },
            });
        }
        fields
    }

    /// Size in bytes of the type behind typedefs and qualifiers.
    fn size_of(&self, metadata: Option<Metadata<'a>>) -> u64 {
        let mut metadata = metadata;
        for _ in 0..MAX_CHAIN {
            let Some(node) = self.node(metadata) else {
                break;
            };
            let size = bytes(node.field("size"));
            if size > 0 || !is_transparent(node) {
                return size;
            }
            metadata = node.field("baseType");
        }
        0
    }
}

/// Size in bytes of a converted type; 0 if unknown.
pub fn size_of_type(program: &ir::Module, ty: ir::TypeId) -> u64 {
    match &program.types[ty] {
        ir::DebugType::Base { size, .. } | ir::DebugType::Record { size, .. } | ir::DebugType::Enum { size, .. } => {
            *size
        }
        ir::DebugType::Pointer { .. } => 8,
        ir::DebugType::Array { element_size, count, .. } => element_size.saturating_mul(count.unwrap_or(0)),
        ir::DebugType::Opaque { .. } => 0,
    }
}

/// Typedefs and qualifiers, which name a type but are none.
fn is_transparent(node: &Node<'_>) -> bool {
    matches!(
        tag(node),
        "DW_TAG_typedef"
            | "DW_TAG_const_type"
            | "DW_TAG_volatile_type"
            | "DW_TAG_restrict_type"
            | "DW_TAG_atomic_type"
            | "DW_TAG_immutable_type"
            | "DW_TAG_member"
            | "DW_TAG_template_alias"
    )
}

fn tag<'a>(node: &Node<'a>) -> &'a str {
    word(node.field("tag")).unwrap_or("")
}

fn word(metadata: Option<Metadata<'_>>) -> Option<&str> {
    match metadata? {
        Metadata::Word(word) => Some(word),
        _ => None,
    }
}

fn text(metadata: Option<Metadata<'_>>) -> Option<String> {
    match metadata? {
        Metadata::String(raw) => Some(display_name(raw)),
        _ => None,
    }
}

fn int(metadata: Option<Metadata<'_>>) -> Option<i128> {
    match metadata? {
        Metadata::Int(value) => Some(value),
        _ => None,
    }
}

/// Bits to bytes.
fn bytes(metadata: Option<Metadata<'_>>) -> u64 {
    u64::try_from(int(metadata).unwrap_or(0)).unwrap_or(0).div_ceil(8)
}
