//! The C++ run-time library: what compiled C++ refers to besides `new`, threads and statics.
//!
//! Exceptions are not supported. A function of the library that exists to throw (`std::__throw_length_error`) is taken
//! as an exception that nobody catches, which ends the program; a `throw` of the program itself is reported as not
//! supported, since a handler may well be waiting for it.
//!
//! `std::mutex` and `std::shared_mutex` are pthread objects in disguise and need nothing here. `std::condition_variable`
//! has a pthread condition variable at its start, and `std::unique_lock` a pointer to its mutex.

use super::call::{Answer, Call, models};
use super::condvar;
use crate::{Addr, ViolationKind};

models! {
    "_ZNSt18condition_variableC1Ev" | "_ZNSt18condition_variableC2Ev" / 1 => |c| condvar::init(c, c.ptr(0)),
    "_ZNSt18condition_variableD1Ev" | "_ZNSt18condition_variableD2Ev" / 1 => |c| condvar::destroy(c, c.ptr(0)),
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE" / 2 => wait,
    "_ZNSt18condition_variable10notify_oneEv" / 1 => |c| condvar::signal(c, c.ptr(0)),
    "_ZNSt18condition_variable10notify_allEv" / 1 => |c| condvar::broadcast(c, c.ptr(0)),
    "_ZSt25notify_all_at_thread_exitRSt18condition_variableSt11unique_lockISt5mutexE" / 2 => |c| c.unsupported("`std::notify_all_at_thread_exit`"),
    "__cxa_pure_virtual" / 0 => |c| c.violation(ViolationKind::Abort, "a pure virtual function is called"),
    "__cxa_deleted_virtual" / 0 => |c| c.violation(ViolationKind::Abort, "a deleted virtual function is called"),
    "_ZSt9terminatev" / 0 => |c| c.violation(ViolationKind::Abort, "`std::terminate` is called"),
    "_ZSt21__glibcxx_assert_failPKciS0_S0_" / 4 => assertion,
    "_ZSt18uncaught_exceptionv" | "_ZSt19uncaught_exceptionsv" / 0 => |_| Ok(0),
    "__cxa_throw" | "__cxa_rethrow" | "__cxa_allocate_exception" | "__cxa_free_exception" | "__cxa_begin_catch"
        | "__cxa_end_catch" | "__cxa_get_exception_ptr" | "__cxa_call_unexpected" | "__cxa_init_primary_exception"
        | "_Unwind_Resume" | "_Unwind_RaiseException" | "__gxx_personality_v0" | "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"
        | "_ZSt17current_exceptionv" / 0 => |c| c.unsupported("C++ exceptions"),
    "__dynamic_cast" / 0 => |c| c.unsupported("`dynamic_cast`"),
    "_ZSt13set_terminatePFvvE" / 0 => |c| c.unsupported("`std::set_terminate`"),
    "__cxa_bad_cast" | "_ZSt16__throw_bad_castv" / 0 => |c| thrown(c, "std::bad_cast"),
    "__cxa_bad_typeid" | "_ZSt18__throw_bad_typeidv" / 0 => |c| thrown(c, "std::bad_typeid"),
    "__cxa_throw_bad_array_new_length" | "_ZSt28__throw_bad_array_new_lengthv" / 0 => |c| thrown(c, "std::bad_array_new_length"),
    "_ZSt17__throw_bad_allocv" / 0 => |c| thrown(c, "std::bad_alloc"),
    "_ZSt21__throw_bad_exceptionv" / 0 => |c| thrown(c, "std::bad_exception"),
    "_ZSt25__throw_bad_function_callv" / 0 => |c| thrown(c, "std::bad_function_call"),
    "_ZSt20__throw_future_errori" / 0 => |c| thrown(c, "std::future_error"),
    "_ZSt19__throw_regex_errorNSt15regex_constants10error_typeE" / 0 => |c| thrown(c, "std::regex_error"),
    "_ZSt20__throw_system_errori" / 1 => |c| {
        let error = super::errno::describe(c.int(0));
        thrown(c, &format!("std::system_error ({error})"))
    },
    "_ZSt20__throw_length_errorPKc" / 1 => |c| thrown_with(c, "std::length_error"),
    "_ZSt19__throw_logic_errorPKc" / 1 => |c| thrown_with(c, "std::logic_error"),
    "_ZSt20__throw_domain_errorPKc" / 1 => |c| thrown_with(c, "std::domain_error"),
    "_ZSt20__throw_out_of_rangePKc" | "_ZSt24__throw_out_of_range_fmtPKcz" / 1 => |c| thrown_with(c, "std::out_of_range"),
    "_ZSt24__throw_invalid_argumentPKc" / 1 => |c| thrown_with(c, "std::invalid_argument"),
    "_ZSt21__throw_runtime_errorPKc" / 1 => |c| thrown_with(c, "std::runtime_error"),
    "_ZSt19__throw_range_errorPKc" / 1 => |c| thrown_with(c, "std::range_error"),
    "_ZSt22__throw_overflow_errorPKc" / 1 => |c| thrown_with(c, "std::overflow_error"),
    "_ZSt23__throw_underflow_errorPKc" / 1 => |c| thrown_with(c, "std::underflow_error"),
    "_ZSt19__throw_ios_failurePKc" / 1 => |c| thrown_with(c, "std::ios_base::failure"),
    "_ZNSt8ios_base4InitC1Ev" | "_ZNSt8ios_base4InitD1Ev" / 1 => |_| Ok(0),
    "_ZNSaIcEC1Ev" | "_ZNSaIcEC2Ev" | "_ZNSaIcED1Ev" | "_ZNSaIcED2Ev" | "_ZNSaIcEC1ERKS_" | "_ZNSaIcEC2ERKS_" / 1 => |_| Ok(0),
}

fn wait(call: &mut Call<'_>) -> Answer {
    let mutex = call.load(call.ptr(1), 8)?;
    if mutex == 0 {
        return call.misuse(call.ptr(0), "`{}` is waited for with a `std::unique_lock` that has no mutex");
    }
    condvar::wait(call, call.ptr(0), Addr(mutex), None)
}

fn thrown<T>(call: &Call<'_>, exception: &str) -> Answer<T> {
    call.violation(ViolationKind::Abort, format!("the library throws {exception}, which is taken as not caught"))
}

fn thrown_with(call: &mut Call<'_>, exception: &str) -> Answer {
    let text = call.read_string(call.ptr(0), 1000)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    thrown(call, &format!("{exception} ({text})"))
}

fn assertion(call: &mut Call<'_>) -> Answer {
    let text = call.read_string(call.ptr(3), 1000)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    call.violation(ViolationKind::Assertion, format!("assertion `{text}` of the C++ library failed"))
}
