//! Accesses are named as the source writes them, by every clang and at every level.

mod common;

use common::{clangs, load_source};
use selvedge_ir::{InstKind, Module};

const SOURCE: &str = r#"
#include <stdatomic.h>
struct node { int val; struct node *next; _Atomic int cnt; };
struct queue { struct node *head, *tail; struct { int x, y; } in[4]; unsigned f1 : 3, f2 : 5; union { int i; double d; } u; };
struct queue *queue, q2;
int counter, buf[10], mat[3][4];
int *gp = buf;
struct wrap { int x; } w;
void f(struct node *n, int i, int *p, struct queue *q, char *s, struct node **pp) {
  n->val = 1;
  n->next->val = 2;
  n->next->next->next = n;
  buf[i] = 3;
  buf[i + 1] = 4;
  buf[3] = 5;
  mat[i][2] = 6;
  mat[1][i] = 7;
  *p = 8;
  p[i] = 9;
  p[2] = 10;
  p[-1] = 11;
  queue->tail = n;
  q2.in[i].y = 12;
  q2.in[2].x = 13;
  q->u.d = 14;
  q->u.i = 15;
  counter++;
  gp[i] = 16;
  w.x = 17;
  s[i] = 'c';
  *s = 'd';
  (*pp)->val = 18;
  pp[i]->next->val = 19;
  atomic_fetch_add(&n->cnt, 1);
  q->in[buf[i]].x = 20;
}
"#;

const NAMES: &[(u32, &str)] = &[
    (11, "n->next->val"),
    (12, "n->next->next->next"),
    (13, "buf[i]"),
    (14, "buf[i + 1]"),
    (15, "buf[3]"),
    (16, "mat[i][2]"),
    (17, "mat[1][i]"),
    (18, "*p"),
    (19, "p[i]"),
    (20, "p[2]"),
    (21, "p[-1]"),
    (22, "queue->tail"),
    (23, "q2.in[i].y"),
    (24, "q2.in[2].x"),
    (25, "q->u.d"),
    (26, "q->u.i"),
    (27, "counter"),
    (28, "gp[i]"),
    (29, "w.x"),
    (30, "s[i]"),
    (31, "*s"),
    (32, "(*pp)->val"),
    (33, "pp[i]->next->val"),
    (34, "n->cnt"),
    (35, "q->in[buf[i]].x"),
];

/// Line and name of every write.
fn writes(module: &Module) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for function in module.functions.values() {
        for (_, inst) in function.placed_insts() {
            let data = &function.insts[inst];
            if let InstKind::Store { path: Some(path), .. } | InstKind::Rmw { path: Some(path), .. } = &data.kind {
                found.push((module.locs[data.loc].line, module.paths[*path].clone()));
            }
        }
    }
    found
}

#[test]
fn accesses_are_named_as_in_the_source() {
    for clang in clangs() {
        for level in ["-O0", "-O1", "-O2"] {
            let module = load_source("accesses", "paths.c", SOURCE, &clang, level).expect("it loads");
            let found = writes(&module);
            for &(line, name) in NAMES {
                let here: Vec<&str> = found.iter().filter(|w| w.0 == line).map(|w| w.1.as_str()).collect();
                assert!(here.contains(&name), "{} {level}: line {line}: {name} not in {here:?}", clang.display());
            }
        }
    }
}

#[test]
fn bit_fields_are_named_by_what_their_unit_holds() {
    let source = "struct s { unsigned a : 3, b : 5; int c; } g;\nvoid f(void) {\n  g.a = 1;\n  g.c = 2;\n}\n";
    for clang in clangs() {
        let module = load_source("bit_fields", "bits.c", source, &clang, "-O0").expect("it loads");
        let found = writes(&module);
        assert!(found.contains(&(4, "g.c".into())), "{found:?}");
        assert!(
            found.iter().any(|(line, name)| *line == 3 && name.starts_with("g.") && name.contains('a')),
            "{found:?}"
        );
    }
}

#[test]
fn variables_carry_their_names_and_types() {
    let source = "typedef struct { int a; double b; } pair;\nenum color { red, green = 5 };\nstatic pair table[4];\nenum color shade = green;\nint main(void) { pair local = table[1]; return local.a; }\n";
    for clang in clangs() {
        let module = load_source("variables", "variables.c", source, &clang, "-O0").expect("it loads");
        let table = &module.globals[module.global_named("table").expect("it is there")];
        let Some(selvedge_ir::DebugType::Array { element, element_size: 16, count: Some(4) }) =
            table.debug_type.map(|ty| &module.types[ty])
        else {
            panic!("an array of pairs: {table:?}");
        };
        let selvedge_ir::DebugType::Record { name, size: 16, fields, union: false } = &module.types[*element] else {
            panic!("a pair");
        };
        assert_eq!(name, "pair");
        let offsets: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
        assert_eq!(offsets, [("a", 0), ("b", 8)]);
        let shade = &module.globals[module.global_named("shade").expect("it is there")];
        let Some(selvedge_ir::DebugType::Enum { name, variants, .. }) = shade.debug_type.map(|ty| &module.types[ty])
        else {
            panic!("an enumeration");
        };
        assert_eq!(name, "enum color");
        assert_eq!(variants[1], (5, "green".to_string()));
        let main = &module.functions[module.function_named("main").expect("it is there")];
        let named = main
            .insts
            .values()
            .any(|inst| matches!(&inst.kind, InstKind::Alloca { name, debug_type: Some(_), .. } if name == "local"));
        assert!(named, "the local variable has a name and a type");
        assert_eq!(module.locs[main.loc].line, 5);
    }
}

#[test]
fn inlined_code_knows_where_it_was_inlined() {
    let source =
        "static inline int get(int *p) { return *p; }\nint twice(int *a) {\n  return get(a)\n    + get(a + 1);\n}\n";
    for clang in clangs() {
        let module = load_source("inlined", "inlined.c", source, &clang, "-O2").expect("it loads");
        let function = &module.functions[module.function_named("twice").expect("it is there")];
        let mut seen = Vec::new();
        for (_, inst) in function.placed_insts() {
            let data = &function.insts[inst];
            if let InstKind::Load { .. } = data.kind {
                let loc = &module.locs[data.loc];
                let outer = &module.locs[loc.inlined_at.expect("the access was inlined")];
                seen.push((loc.line, loc.function.clone(), outer.line, outer.function.clone()));
            }
        }
        let expected = |line| (1, "get".to_string(), line, "twice".to_string());
        assert_eq!(seen, [expected(3), expected(4)]);
    }
}

#[test]
fn cpp_names_are_qualified() {
    let source = "namespace net { struct Queue { int tail; void push(int v) { this->tail = v; } static int made; }; int Queue::made; }\nint use(net::Queue &q) { q.push(3); net::Queue::made++; return q.tail; }\n";
    for clang in clangs() {
        let module = load_source("cpp_names", "names.cpp", source, &clang, "-O0").expect("it loads");
        let names: Vec<&str> = module.functions.values().map(|f| f.source_name.as_str()).collect();
        assert!(names.contains(&"net::Queue::push"), "{names:?}");
        let found: Vec<String> = writes(&module).into_iter().map(|w| w.1).collect();
        assert!(found.contains(&"this->tail".to_string()), "{found:?}");
        assert!(found.iter().any(|name| name.ends_with("made")), "{found:?}");
    }
}
