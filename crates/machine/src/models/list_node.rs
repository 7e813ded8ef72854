//! Lists: what `std::list` leaves to the C++ library.
//!
//! A node starts with the addresses of the next node and of the previous one. A list is a ring of nodes with a header
//! among them; an empty list is a header that is its own neighbour.

use super::call::{Answer, Call, models};
use crate::Addr;

models! {
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_" / 2 => hook,
    "_ZNSt8__detail15_List_node_base9_M_unhookEv" / 1 => unhook,
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_" / 3 => transfer,
    "_ZNSt8__detail15_List_node_base10_M_reverseEv" / 1 => reverse,
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_" / 2 => swap,
}

const NEXT: u64 = 0;
const PREVIOUS: u64 = 8;

/// Puts the node in front of `position`.
fn hook(call: &mut Call<'_>) -> Answer {
    let (node, position) = (call.ptr(0), call.ptr(1));
    let previous = call.load(position.plus(PREVIOUS), 8)?;
    call.store(node.plus(NEXT), 8, position.0)?;
    call.store(node.plus(PREVIOUS), 8, previous)?;
    call.store(Addr(previous).plus(NEXT), 8, node.0)?;
    call.store(position.plus(PREVIOUS), 8, node.0)?;
    Ok(0)
}

fn unhook(call: &mut Call<'_>) -> Answer {
    let node = call.ptr(0);
    let next = call.load(node.plus(NEXT), 8)?;
    let previous = call.load(node.plus(PREVIOUS), 8)?;
    call.store(Addr(previous).plus(NEXT), 8, next)?;
    call.store(Addr(next).plus(PREVIOUS), 8, previous)?;
    Ok(0)
}

/// Moves the nodes from `first` up to but without `last` in front of the node.
fn transfer(call: &mut Call<'_>) -> Answer {
    let (node, first, last) = (call.ptr(0), call.ptr(1), call.ptr(2));
    if node == last {
        return Ok(0);
    }
    let tail = Addr(call.load(last.plus(PREVIOUS), 8)?);
    let before_first = Addr(call.load(first.plus(PREVIOUS), 8)?);
    let before_node = Addr(call.load(node.plus(PREVIOUS), 8)?);
    call.store(tail.plus(NEXT), 8, node.0)?;
    call.store(before_first.plus(NEXT), 8, last.0)?;
    call.store(before_node.plus(NEXT), 8, first.0)?;
    call.store(node.plus(PREVIOUS), 8, tail.0)?;
    call.store(last.plus(PREVIOUS), 8, before_first.0)?;
    call.store(first.plus(PREVIOUS), 8, before_node.0)?;
    Ok(0)
}

fn reverse(call: &mut Call<'_>) -> Answer {
    let header = call.ptr(0);
    let mut node = header;
    loop {
        let next = call.load(node.plus(NEXT), 8)?;
        let previous = call.load(node.plus(PREVIOUS), 8)?;
        call.store(node.plus(NEXT), 8, previous)?;
        call.store(node.plus(PREVIOUS), 8, next)?;
        node = Addr(next);
        if node == header {
            return Ok(0);
        }
    }
}

/// Exchanges the nodes behind two headers.
fn swap(call: &mut Call<'_>) -> Answer {
    let (a, b) = (call.ptr(0), call.ptr(1));
    let mut neighbours = [[Addr(0); 2]; 2];
    for (header, [next, previous]) in [a, b].into_iter().zip(&mut neighbours) {
        *next = Addr(call.load(header.plus(NEXT), 8)?);
        *previous = Addr(call.load(header.plus(PREVIOUS), 8)?);
    }
    let [of_a, of_b] = neighbours;
    adopt(call, a, b, of_b)?;
    adopt(call, b, a, of_a)?;
    Ok(0)
}

/// Gives a header the nodes of another, which were between these two.
fn adopt(call: &mut Call<'_>, header: Addr, other: Addr, [first, last]: [Addr; 2]) -> Answer<()> {
    let (first, last) = if first == other { (header, header) } else { (first, last) };
    call.store(header.plus(NEXT), 8, first.0)?;
    call.store(header.plus(PREVIOUS), 8, last.0)?;
    call.store(first.plus(PREVIOUS), 8, header.0)?;
    call.store(last.plus(NEXT), 8, header.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::Fake;

    fn header(host: &mut Fake) -> Addr {
        let header = host.heap(16);
        host.store(header, 8, header.0);
        host.store(Addr(header.0 + PREVIOUS), 8, header.0);
        header
    }

    /// The nodes of a list, after a look at both directions.
    fn nodes(host: &Fake, header: Addr) -> Vec<u64> {
        let walk = |direction: u64| {
            let next = |&node: &u64| Some(host.load(Addr(node + direction), 8)).filter(|&next| next != header.0);
            std::iter::successors(next(&header.0), next).collect::<Vec<u64>>()
        };
        let mut backward = walk(PREVIOUS);
        backward.reverse();
        assert_eq!(walk(NEXT), backward);
        backward
    }

    fn function(name: &str) -> String {
        format!("_ZNSt8__detail15_List_node_base{name}")
    }

    #[test]
    fn nodes_are_put_taken_moved_and_turned_round() {
        let mut host = Fake::new();
        let (list, other) = (header(&mut host), header(&mut host));
        let [a, b, c] = [(); 3].map(|()| host.heap(16).0);
        for node in [a, b, c] {
            host.call(&function("7_M_hookEPS0_"), &[node, list.0]);
        }
        assert_eq!(nodes(&host, list), [a, b, c]);
        host.call(&function("10_M_reverseEv"), &[list.0]);
        assert_eq!(nodes(&host, list), [c, b, a]);
        host.call(&function("9_M_unhookEv"), &[b]);
        assert_eq!(nodes(&host, list), [c, a]);
        host.call(&function("4swapERS0_S1_"), &[list.0, other.0]);
        assert_eq!((nodes(&host, list), nodes(&host, other)), (vec![], vec![c, a]));
        host.call(&function("11_M_transferEPS0_S1_"), &[list.0, a, other.0]);
        assert_eq!((nodes(&host, list), nodes(&host, other)), (vec![a], vec![c]));
        host.call(&function("4swapERS0_S1_"), &[list.0, other.0]);
        assert_eq!((nodes(&host, list), nodes(&host, other)), (vec![c], vec![a]));
    }
}
