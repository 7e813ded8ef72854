//! Values that must not be leaked.

use crate::runtime;

/// A value that has to be dropped before the model ends; otherwise it is a leak.
#[derive(Debug)]
pub struct Track<T> {
    /// Empty only while it is taken apart.
    value: Option<T>,
    run: u64,
}

const WHOLE: &str = "there is a value until it is taken out";

impl<T> Track<T> {
    /// A value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        let inside = runtime::current().is_some() && !std::thread::panicking();
        let made = || {
            runtime::shared(|shared| {
                shared.live_tracked += 1;
                shared.run
            })
        };
        Track { value: Some(value), run: if inside { made() } else { 0 } }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        self.value.as_ref().expect(WHOLE)
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(WHOLE)
    }

    /// Takes the value out.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect(WHOLE)
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        if runtime::current().is_some() {
            runtime::shared(|shared| {
                if shared.run == self.run {
                    shared.live_tracked -= 1;
                }
            });
        }
    }
}
