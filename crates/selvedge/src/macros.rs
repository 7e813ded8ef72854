//! `thread_local!` and `lazy_static!`.

/// Stands in for `std::thread_local!`: a variable for every thread of a model, in every execution anew.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $(#[$attr])*
        $vis static $name: $crate::thread::LocalKey<$type> = $crate::thread::LocalKey {
            init: {
                fn init() -> $type {
                    $init
                }
                init
            },
            _p: ::std::marker::PhantomData,
        };
    };
}

/// Stands in for `lazy_static::lazy_static!`: a value that is made when it is first used, in every execution anew.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        #[allow(non_camel_case_types, missing_copy_implementations, dead_code)]
        $(#[$attr])*
        $vis struct $name {
            __private_field: (),
        }
        #[doc(hidden)]
        #[allow(dead_code)]
        $vis static $name: $name = $name { __private_field: () };
        impl ::std::ops::Deref for $name {
            type Target = $type;

            #[track_caller]
            fn deref(&self) -> &$type {
                fn init() -> $type {
                    $init
                }
                static LAZY: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy { init, _p: ::std::marker::PhantomData };
                LAZY.get()
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
