//! Attributes, linkage words and calling conventions.
//!
//! This is where a reader of LLVM IR goes wrong silently: a skipped `byval` gives a wrong program that nearly always
//! looks right. So nothing is skipped by shape. Each attribute is in one of three tables: *ignored* (a promise to the
//! optimiser or an instruction to the code generator, which cannot change the result of an execution), *represented*
//! (it changes what is executed, and the lowering looks at it), or *unsupported* (represented by name, an error when
//! the function or call is reached). An attribute in none of them is an error at its position.

use super::Parser;
use crate::ast::{FunctionAttributes, Linkage, ParameterAttributes};
use crate::error::{Fault, Parsed};
use crate::lexer::Token;

/// Function attributes without arguments that do not change the result of an execution.
const IGNORED_FUNCTION: &[&str] = &[
    "alwaysinline",
    "argmemonly",
    "builtin",
    "cold",
    "convergent",
    "coro_elide_safe",
    "coro_only_destroy_when_complete",
    "disable_sanitizer_instrumentation",
    "flatten",
    "fn_ret_thunk_extern",
    "hot",
    "hybrid_patchable",
    "inaccessiblemem_or_argmemonly",
    "inaccessiblememonly",
    "inlinehint",
    "jumptable",
    "minsize",
    "mustprogress",
    "nobuiltin",
    "nocallback",
    "nocf_check",
    "nocreateundeforpoison",
    "nodivergencesource",
    "noduplicate",
    "nofree",
    "noimplicitfloat",
    "noinline",
    "nomerge",
    "nonlazybind",
    "nooutline",
    "noprofile",
    "norecurse",
    "noredzone",
    "nosanitize_bounds",
    "nosanitize_coverage",
    "nosync",
    "nounwind",
    "null_pointer_is_valid",
    "optdebug",
    "optforfuzzing",
    "optnone",
    "optsize",
    "readnone",
    "readonly",
    "safestack",
    "sanitize_address",
    "sanitize_alloc_token",
    "sanitize_hwaddress",
    "sanitize_memory",
    "sanitize_memtag",
    "sanitize_numerical_stability",
    "sanitize_realtime",
    "sanitize_realtime_blocking",
    "sanitize_thread",
    "sanitize_type",
    "shadowcallstack",
    "skipprofile",
    "speculatable",
    "speculative_load_hardening",
    "ssp",
    "sspreq",
    "sspstrong",
    "strictfp",
    "willreturn",
    "writeonly",
];

/// Function attributes with an argument in parentheses (or `=N` in a group) that do not change the result.
const IGNORED_FUNCTION_WITH_ARGUMENT: &[&str] =
    &["alignstack", "allockind", "allocsize", "denormal_fpenv", "memory", "prefalign", "uwtable", "vscale_range"];

/// Function attributes that are represented by name and refused when reached.
const UNSUPPORTED_FUNCTION: &[&str] = &["naked", "presplitcoroutine", "thunk"];

/// String attributes that do not change the result of an execution.
const IGNORED_STRINGS: &[&str] = &[
    "aarch64_pstate_sm_body",
    "alloc-family",
    "alloc-variant-zeroed",
    "approx-func-fp-math",
    "arm-strict-align",
    "backchain",
    "branch-protection-pauth-lr",
    "branch-target-enforcement",
    "bti",
    "cf-protection-branch",
    "cf-protection-return",
    "cmse_nonsecure_call",
    "correctly-rounded-divide-sqrt-fp-math",
    "denormal-fp-math",
    "denormal-fp-math-f32",
    "disable-tail-calls",
    "dontcall-error",
    "dontcall-warn",
    "fentry-call",
    "frame-pointer",
    "function-instrument",
    "function-inline-cost",
    "function-inline-cost-multiplier",
    "guard_nocf",
    "guarded-control-stack",
    "indirect-tls-seg-refs",
    "instrument-function-entry",
    "instrument-function-entry-inlined",
    "instrument-function-exit",
    "instrument-function-exit-inlined",
    "interrupt-save-fp",
    "is_sign_extended",
    "less-precise-fpmad",
    "loader-replaceable",
    "long-calls",
    "min-legal-vector-width",
    "modular-format",
    "ms-abi",
    "no-frame-pointer-elim",
    "no-frame-pointer-elim-non-leaf",
    "no-infs-fp-math",
    "no-inline-line-tables",
    "no-jump-tables",
    "no-nans-fp-math",
    "no-realign-stack",
    "no-signed-zeros-fp-math",
    "no-stack-arg-probe",
    "no-trapping-math",
    "no-builtins",
    "no_caller_saved_registers",
    "null-pointer-is-valid",
    "patchable-function",
    "patchable-function-entry",
    "patchable-function-entry-section",
    "patchable-function-prefix",
    "prefer-vector-width",
    "prefix-data",
    "probe-stack",
    "profile-sample-accurate",
    "reciprocal-estimates",
    "save-reg-params",
    "sign-return-address",
    "sign-return-address-key",
    "split-stack",
    "ssp-buffer-size",
    "stack-probe-size",
    "stack-protector-buffer-size",
    "stackrealign",
    "strictfp",
    "sys_thread",
    "target-cpu",
    "target-features",
    "temporaryalloc",
    "trap-func-name",
    "trapping-math",
    "tune-cpu",
    "unsafe-fp-math",
    "uniform-work-group-size",
    "use-sample-profile",
    "use-soft-float",
    "used-by-tail-call",
    "vector-function-abi-variant",
    "warn-stack-size",
    "xray-instruction-threshold",
    "xray-skip-entry",
    "xray-skip-exit",
    "xray-ignore-loops",
    "xray-log-args",
    "zero-call-used-regs",
];

/// String attributes that are families with one common prefix.
const IGNORED_STRING_PREFIXES: &[&str] = &["no-builtin-", "llvm.assume", "aarch64_", "stack-protector-"];

/// Parameter and result attributes without arguments that do not change the result of an execution.
///
/// `signext`, `zeroext` and `noext` say how a register's unused bits are filled; the value is the same.
const IGNORED_PARAMETER: &[&str] = &[
    "allocalign",
    "allocptr",
    "dead_on_unwind",
    "immarg",
    "inreg",
    "noalias",
    "nocapture",
    "noext",
    "nofree",
    "nonnull",
    "noundef",
    "readnone",
    "readonly",
    "returned",
    "signext",
    "writable",
    "writeonly",
    "zeroext",
];

/// Parameter and result attributes with an argument in parentheses that do not change the result.
const IGNORED_PARAMETER_WITH_ARGUMENT: &[&str] =
    &["alignstack", "captures", "dereferenceable", "dereferenceable_or_null", "initializes", "nofpclass", "range"];

/// Calling conventions. They place arguments in registers, which cannot be seen in an execution of the IR.
const CALLING_CONVENTIONS: &[&str] = &[
    "aarch64_sve_vector_pcs",
    "aarch64_vector_pcs",
    "anyregcc",
    "arm_aapcs_vfpcc",
    "arm_aapcscc",
    "arm_apcscc",
    "ccc",
    "cfguard_checkcc",
    "coldcc",
    "cxx_fast_tlscc",
    "fastcc",
    "ghccc",
    "graalcc",
    "intel_ocl_bicc",
    "preserve_allcc",
    "preserve_mostcc",
    "preserve_nonecc",
    "swiftcc",
    "swifttailcc",
    "tailcc",
    "webkit_jscc",
    "win64cc",
    "x86_64_sysvcc",
    "x86_fastcallcc",
    "x86_intrcc",
    "x86_regcallcc",
    "x86_stdcallcc",
    "x86_thiscallcc",
    "x86_vectorcallcc",
];

impl<'a> Parser<'a> {
    fn unknown_attribute<T>(&self, name: &str) -> Parsed<T> {
        Err(Fault::unsupported(
            self.start,
            format!("the unknown attribute `{name}`, which may change what the program does"),
        ))
    }

    /// Attributes of a parameter, argument or result.
    pub(super) fn parameter_attributes(&mut self) -> Parsed<ParameterAttributes> {
        let mut attributes = ParameterAttributes::default();
        loop {
            match self.token {
                Token::Word(word) => {
                    if !self.parameter_attribute(word, &mut attributes)? {
                        return Ok(attributes);
                    }
                }
                Token::String(name) => self.string_attribute(name, &mut FunctionAttributes::default())?,
                _ => return Ok(attributes),
            }
        }
    }

    /// Reads one attribute; false if the word is something else, such as a type.
    fn parameter_attribute(&mut self, word: &str, attributes: &mut ParameterAttributes) -> Parsed<bool> {
        if IGNORED_PARAMETER.contains(&word) {
            self.bump()?;
            return Ok(true);
        }
        if IGNORED_PARAMETER_WITH_ARGUMENT.contains(&word) {
            self.bump()?;
            self.skip_parens()?;
            return Ok(true);
        }
        match word {
            "byval" => {
                let at = self.start;
                attributes.byval = self.attribute_type()?;
                if attributes.byval.is_none() {
                    return Err(Fault::unsupported(at, "`byval` without a type"));
                }
            }
            "sret" => attributes.sret = self.attribute_type()?,
            "byref" => {
                self.attribute_type()?;
            }
            "elementtype" => attributes.element_type = self.attribute_type()?,
            "inalloca" => {
                self.attribute_type()?;
                attributes.unsupported = Some("inalloca");
            }
            "preallocated" => {
                self.attribute_type()?;
                attributes.unsupported = Some("preallocated");
            }
            "align" => {
                self.bump()?;
                let parens = self.eat(b'(')?;
                attributes.align = Some(self.alignment_value()?);
                if parens {
                    self.expect(b')')?;
                }
            }
            "dead_on_return" => {
                self.bump()?;
                if self.is_mark(b'(') {
                    self.skip_parens()?;
                }
            }
            "swifterror" => self.unsupported_parameter("swifterror", attributes)?,
            "swiftself" => self.unsupported_parameter("swiftself", attributes)?,
            "swiftasync" => self.unsupported_parameter("swiftasync", attributes)?,
            "nest" => self.unsupported_parameter("nest", attributes)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// After attributes, where a word can only be a type: anything else is an attribute that we do not know.
    pub(super) fn reject_unknown_attribute(&mut self) -> Parsed<()> {
        let token = self.token;
        match token {
            Token::Word(word) if word != "target" && self.type_word(word).is_none() => self.unknown_attribute(word),
            _ => Ok(()),
        }
    }

    fn unsupported_parameter(&mut self, name: &'static str, attributes: &mut ParameterAttributes) -> Parsed<()> {
        attributes.unsupported = Some(name);
        self.bump()
    }

    /// The optional `(type)` after an attribute's name.
    fn attribute_type(&mut self) -> Parsed<Option<crate::types::TypeId>> {
        self.bump()?;
        if !self.eat(b'(')? {
            return Ok(None);
        }
        let ty = self.value_type()?;
        self.expect(b')')?;
        Ok(Some(ty))
    }

    /// An alignment: a power of two.
    pub(super) fn alignment_value(&mut self) -> Parsed<u64> {
        let at = self.start;
        let align = self.unsigned()?;
        if !align.is_power_of_two() || align > 1 << 32 {
            return self.wrong(at, "an alignment must be a power of two up to 2^32");
        }
        Ok(align)
    }

    /// Attributes of a function or call, up to the first token that is none.
    pub(super) fn function_attributes(&mut self) -> Parsed<FunctionAttributes> {
        let mut attributes = FunctionAttributes::default();
        loop {
            match self.token {
                Token::AttributeGroup(number) => {
                    self.used_groups.push((number, self.start));
                    attributes.groups.push(number);
                    self.bump()?;
                }
                Token::String(name) => self.string_attribute(name, &mut attributes)?,
                Token::Word(word) => {
                    if !self.function_attribute(word, &mut attributes)? {
                        return Ok(attributes);
                    }
                }
                _ => return Ok(attributes),
            }
        }
    }

    /// Reads one attribute; false if the word is not an attribute.
    fn function_attribute(&mut self, word: &str, attributes: &mut FunctionAttributes) -> Parsed<bool> {
        if IGNORED_FUNCTION.contains(&word) {
            self.bump()?;
        } else if IGNORED_FUNCTION_WITH_ARGUMENT.contains(&word) {
            self.bump()?;
            if self.is_mark(b'(') {
                self.skip_parens()?;
            } else if self.eat(b'=')? {
                self.unsigned()?;
            }
        } else if let Some(&name) = UNSUPPORTED_FUNCTION.iter().find(|&&name| name == word) {
            attributes.unsupported = Some(name);
            self.bump()?;
        } else if word == "noreturn" {
            attributes.noreturn = true;
            self.bump()?;
        } else if word == "returns_twice" {
            attributes.returns_twice = true;
            self.bump()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `"name"` or `"name"="value"`.
    fn string_attribute(&mut self, name: &str, attributes: &mut FunctionAttributes) -> Parsed<()> {
        if let Some(&name) = UNSUPPORTED_FUNCTION.iter().find(|&&n| n == name) {
            attributes.unsupported = Some(name);
        } else if !IGNORED_STRINGS.contains(&name)
            && !IGNORED_STRING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        {
            return self.unknown_attribute(name);
        }
        self.bump()?;
        if self.eat(b'=')? {
            self.string()?;
        }
        Ok(())
    }

    /// `attributes #N = { ... }`.
    pub(super) fn attribute_group(&mut self) -> Parsed<()> {
        self.bump()?;
        let Token::AttributeGroup(number) = self.token else {
            return self.expected("an attribute group");
        };
        self.bump()?;
        self.expect(b'=')?;
        self.expect(b'{')?;
        let attributes = self.function_attributes()?;
        if !self.is_mark(b'}') {
            if let Token::Word(word) = self.token {
                return self.unknown_attribute(word);
            }
            return self.expected("an attribute or `}`");
        }
        self.bump()?;
        self.module.groups.insert(number, attributes);
        Ok(())
    }

    /// A linkage word, if there is one.
    pub(super) fn linkage(&mut self) -> Parsed<Option<Linkage>> {
        let Token::Word(word) = self.token else {
            return Ok(None);
        };
        let linkage = match word {
            "private" => Linkage::Private,
            "internal" => Linkage::Internal,
            "available_externally" => Linkage::AvailableExternally,
            "linkonce" | "linkonce_odr" => Linkage::LinkOnce,
            "weak" | "weak_odr" => Linkage::Weak,
            "common" => Linkage::Common,
            "appending" => Linkage::Appending,
            "extern_weak" => Linkage::ExternWeak,
            "external" => Linkage::External,
            _ => return Ok(None),
        };
        self.bump()?;
        Ok(Some(linkage))
    }

    /// Preemption, visibility and DLL storage: matters of the linker.
    pub(super) fn skip_visibility(&mut self) -> Parsed<()> {
        self.eat_words(&["dso_local", "dso_preemptable", "default", "hidden", "protected", "dllimport", "dllexport"])
    }

    /// `thread_local` with its optional model; whether it was there.
    pub(super) fn thread_local(&mut self) -> Parsed<bool> {
        if !self.eat_word("thread_local")? {
            return Ok(false);
        }
        if self.eat(b'(')? {
            match self.token {
                Token::Word("localdynamic" | "initialexec" | "localexec") => self.bump()?,
                _ => return self.expected("a thread-local model"),
            }
            self.expect(b')')?;
        }
        Ok(true)
    }

    /// A calling convention, if there is one.
    pub(super) fn calling_convention(&mut self) -> Parsed<()> {
        if let Token::Word(word) = self.token {
            if word == "cc" {
                self.bump()?;
                self.unsigned()?;
            } else if CALLING_CONVENTIONS.contains(&word) {
                self.bump()?;
            }
        }
        Ok(())
    }
}
