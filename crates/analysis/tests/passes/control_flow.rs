//! Control flow.

use super::*;

const NESTED: &str = "func @f(c: i1) {
a:
  br outer
outer:
  br inner
inner:
  condbr c, inner2, next
inner2:
  condbr c, inner, out
next:
  condbr c, outer, out
out:
  ret
}";

#[test]
fn dominators_and_frontiers_of_nested_loops() {
    let module = module(NESTED);
    let cfg = Cfg::new(&module.functions[f(&module)]);
    let dominators = Dominators::new(&cfg);
    let bb = Block::new;
    let immediate: Vec<Option<Block>> = cfg.blocks().map(|block| dominators.immediate(block)).collect();
    assert_eq!(immediate, [None, Some(bb(0)), Some(bb(1)), Some(bb(2)), Some(bb(2)), Some(bb(2))]);
    assert!(dominators.dominates(bb(1), bb(5)) && !dominators.dominates(bb(3), bb(5)));
    assert!(dominators.dominates(bb(2), bb(2)) && !dominators.strictly_dominates(bb(2), bb(2)));
    let frontiers = Frontiers::new(&cfg, &dominators);
    assert_eq!(frontiers.of(bb(3)), blocks(&[2, 5]));
    assert_eq!(frontiers.of(bb(1)), blocks(&[1]));
    assert_eq!(frontiers.iterated([bb(3)]), blocks(&[2, 5, 1]));
}

#[test]
fn nested_loops_are_found_with_latches_exits_and_parents() {
    let module = module(NESTED);
    let forest = LoopForest::of(&module.functions[f(&module)]);
    let loops: Vec<_> = forest.loops.iter().collect();
    assert_eq!(loops.len(), 2);
    let (outer, inner) = (loops[0], loops[1]);
    assert_eq!(
        (outer.1.header, &outer.1.blocks, &outer.1.latches),
        (Block::new(1), &blocks(&[1, 2, 3, 4]), &blocks(&[4]))
    );
    assert_eq!((inner.1.header, &inner.1.blocks, &inner.1.latches), (Block::new(2), &blocks(&[2, 3]), &blocks(&[3])));
    assert_eq!(inner.1.parent, Some(outer.0));
    let (bb2, bb3, bb4, bb5) = (Block::new(2), Block::new(3), Block::new(4), Block::new(5));
    assert_eq!(inner.1.exits, [(bb2, bb4), (bb3, bb5)]);
    assert_eq!(outer.1.exits, [(bb3, bb5), (bb4, bb5)]);
    assert_eq!((forest.depth(bb3), forest.depth(bb4), forest.depth(bb5)), (2, 1, 0));
    assert!(forest.irreducible.is_empty());
}

#[test]
fn a_loop_with_two_entries_is_reported_as_irreducible() {
    let text = "func @f(c: i1) {\ns:\n condbr c, a, b\na:\n br b\nb:\n condbr c, a, end\nend:\n ret\n}";
    let module = module(text);
    let forest = LoopForest::of(&module.functions[f(&module)]);
    assert!(forest.loops.is_empty());
    assert_eq!(forest.irreducible.len(), 1);
}

#[test]
fn the_call_graph_knows_recursion_and_addresses() {
    let module = module(
        "global @table : 8 relocs [0: @c]
        func @a() {
        e:
          call @b()
          call *@d()
          ret
        }
        func @b() {
        e:
          call @a()
          call @c()
          call @take(ptr null)
          ret
        }
        func @c() {
        e:
          ret
        }
        func @d() {
        e:
          call @d()
          ret
        }",
    );
    let id = |name: &str| module.function_named(name).expect("the function exists");
    let (a, b, c, d) = (id("a"), id("b"), id("c"), id("d"));
    let graph = CallGraph::new(&module);
    assert_eq!(graph.callees(b), [a, c, id("take")]);
    assert_eq!([a, b, c, d].map(|id| graph.is_recursive(id)), [true, true, false, true]);
    assert_eq!([a, b, c, d].map(|id| graph.is_address_taken(id)), [false, false, true, true]);
    assert_eq!([a, b, c, d].map(|id| graph.calls_through_pointers(id)), [true, false, false, false]);
    let order: Vec<FuncId> = graph.bottom_up().collect();
    let place = |id| order.iter().position(|&other| other == id).expect("every function is listed");
    assert_eq!(order.len(), module.functions.len());
    assert!(place(c) < place(b) && place(id("take")) < place(b));
}
