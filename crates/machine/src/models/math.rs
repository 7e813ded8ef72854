//! `<math.h>`: what compilers leave to the library.
//!
//! Results come from the same mathematical functions that Rust programs use; they may differ from another C library in
//! the last bit where neither is exact. `errno` is not set.

use super::call::{Answer, Call, models};

models! {
    "sqrt" / 1 => |c| one(c, f64::sqrt), "sqrtf" / 1 => |c| one_f(c, f32::sqrt),
    "cbrt" / 1 => |c| one(c, f64::cbrt), "cbrtf" / 1 => |c| one_f(c, f32::cbrt),
    "fabs" / 1 => |c| one(c, f64::abs), "fabsf" / 1 => |c| one_f(c, f32::abs),
    "floor" / 1 => |c| one(c, f64::floor), "floorf" / 1 => |c| one_f(c, f32::floor),
    "ceil" / 1 => |c| one(c, f64::ceil), "ceilf" / 1 => |c| one_f(c, f32::ceil),
    "trunc" / 1 => |c| one(c, f64::trunc), "truncf" / 1 => |c| one_f(c, f32::trunc),
    "round" / 1 => |c| one(c, f64::round), "roundf" / 1 => |c| one_f(c, f32::round),
    "rint" | "nearbyint" / 1 => |c| one(c, f64::round_ties_even),
    "rintf" | "nearbyintf" / 1 => |c| one_f(c, f32::round_ties_even),
    "exp" / 1 => |c| one(c, f64::exp), "expf" / 1 => |c| one_f(c, f32::exp),
    "exp2" / 1 => |c| one(c, f64::exp2), "exp2f" / 1 => |c| one_f(c, f32::exp2),
    "expm1" / 1 => |c| one(c, f64::exp_m1), "log1p" / 1 => |c| one(c, f64::ln_1p),
    "log" / 1 => |c| one(c, f64::ln), "logf" / 1 => |c| one_f(c, f32::ln),
    "log2" / 1 => |c| one(c, f64::log2), "log2f" / 1 => |c| one_f(c, f32::log2),
    "log10" / 1 => |c| one(c, f64::log10), "log10f" / 1 => |c| one_f(c, f32::log10),
    "sin" / 1 => |c| one(c, f64::sin), "sinf" / 1 => |c| one_f(c, f32::sin),
    "cos" / 1 => |c| one(c, f64::cos), "cosf" / 1 => |c| one_f(c, f32::cos),
    "tan" / 1 => |c| one(c, f64::tan), "tanf" / 1 => |c| one_f(c, f32::tan),
    "asin" / 1 => |c| one(c, f64::asin), "asinf" / 1 => |c| one_f(c, f32::asin),
    "acos" / 1 => |c| one(c, f64::acos), "acosf" / 1 => |c| one_f(c, f32::acos),
    "atan" / 1 => |c| one(c, f64::atan), "atanf" / 1 => |c| one_f(c, f32::atan),
    "sinh" / 1 => |c| one(c, f64::sinh), "cosh" / 1 => |c| one(c, f64::cosh), "tanh" / 1 => |c| one(c, f64::tanh),
    "atan2" / 2 => |c| two(c, f64::atan2), "atan2f" / 2 => |c| two_f(c, f32::atan2),
    "pow" / 2 => |c| two(c, f64::powf), "powf" / 2 => |c| two_f(c, f32::powf),
    "fmod" / 2 => |c| two(c, |x, y| x % y), "fmodf" / 2 => |c| two_f(c, |x, y| x % y),
    "hypot" / 2 => |c| two(c, f64::hypot), "hypotf" / 2 => |c| two_f(c, f32::hypot),
    "fmin" / 2 => |c| two(c, f64::min), "fminf" / 2 => |c| two_f(c, f32::min),
    "fmax" / 2 => |c| two(c, f64::max), "fmaxf" / 2 => |c| two_f(c, f32::max),
    "fdim" / 2 => |c| two(c, |x, y| if x > y { x - y } else if x <= y { 0.0 } else { f64::NAN }),
    "copysign" / 2 => |c| two(c, f64::copysign), "copysignf" / 2 => |c| two_f(c, f32::copysign),
    "fma" / 3 => |c| Ok(double(c, 0).mul_add(double(c, 1), double(c, 2)).to_bits()),
    "fmaf" / 3 => |c| Ok(u64::from(single(c, 0).mul_add(single(c, 1), single(c, 2)).to_bits())),
    "lround" | "llround" / 1 => |c| Ok(double(c, 0).round() as i64 as u64),
    "lrint" | "llrint" / 1 => |c| Ok(double(c, 0).round_ties_even() as i64 as u64),
    "ldexp" | "scalbn" / 2 => |c| Ok(scale(double(c, 0), c.int(1)).to_bits()),
    "frexp" / 2 => frexp,
    "modf" / 2 => modf,
}

fn double(call: &Call<'_>, n: usize) -> f64 {
    f64::from_bits(call.arg(n))
}

fn single(call: &Call<'_>, n: usize) -> f32 {
    f32::from_bits(call.arg(n) as u32)
}

fn one(call: &mut Call<'_>, f: fn(f64) -> f64) -> Answer {
    Ok(f(double(call, 0)).to_bits())
}

fn one_f(call: &mut Call<'_>, f: fn(f32) -> f32) -> Answer {
    Ok(u64::from(f(single(call, 0)).to_bits()))
}

fn two(call: &mut Call<'_>, f: fn(f64, f64) -> f64) -> Answer {
    Ok(f(double(call, 0), double(call, 1)).to_bits())
}

fn two_f(call: &mut Call<'_>, f: fn(f32, f32) -> f32) -> Answer {
    Ok(u64::from(f(single(call, 0), single(call, 1)).to_bits()))
}

/// `x * 2^n`, in steps that are exact as long as the result is not subnormal.
fn scale(mut x: f64, n: i32) -> f64 {
    let mut left = n.clamp(-5000, 5000);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        x *= f64::powi(2.0, step);
        left -= step;
    }
    x
}

fn frexp(call: &mut Call<'_>) -> Answer {
    let x = double(call, 0);
    let (fraction, exponent) = if x == 0.0 || !x.is_finite() {
        (x, 0)
    } else {
        // Subnormal numbers are made normal first.
        let (normal, shift) = if x.abs() < f64::MIN_POSITIVE { (x * f64::powi(2.0, 64), 64) } else { (x, 0) };
        let bits = normal.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
        (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent - shift)
    };
    call.store(call.ptr(1), 4, exponent as u64)?;
    Ok(fraction.to_bits())
}

fn modf(call: &mut Call<'_>) -> Answer {
    let x = double(call, 0);
    let whole = x.trunc();
    call.store(call.ptr(1), 8, whole.to_bits())?;
    let fraction = if x.is_infinite() { 0.0 } else { x - whole };
    Ok(fraction.copysign(x).to_bits())
}

#[cfg(test)]
mod tests {
    use crate::Addr;
    use crate::models::testing::Fake;

    #[test]
    fn numbers_are_taken_apart_and_put_together() {
        let mut host = Fake::new();
        let place = host.heap(8);
        for x in [1.0f64, 0.75, -10.5, 1e300, 5e-324, 1e-310] {
            let fraction = f64::from_bits(host.call("frexp", &[x.to_bits(), place.0]));
            let exponent = host.load(place, 4) as u32 as i32;
            assert!((0.5..1.0).contains(&fraction.abs()), "{x}");
            let back = host.call("ldexp", &[fraction.to_bits(), u64::from(exponent as u32)]);
            assert_eq!(f64::from_bits(back), x);
        }
        assert_eq!(f64::from_bits(host.call("modf", &[(-2.25f64).to_bits(), place.0])), -0.25);
        assert_eq!(f64::from_bits(host.load(Addr(place.0), 8)), -2.0);
        assert_eq!(f64::from_bits(host.call("pow", &[2f64.to_bits(), 10f64.to_bits()])), 1024.0);
        assert_eq!(f32::from_bits(host.call("sqrtf", &[u64::from(9f32.to_bits())]) as u32), 3.0);
    }
}
