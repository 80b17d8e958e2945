//! Columns get their trees.
//!
//! A quasi-identifier is bound in one place: the hierarchy, the declared type and the missing tokens
//! of the policy are laid over the values that occur. Tables in memory, files on disk, summaries and
//! releases that are verified differ only in where those values come from.

use crate::error::{Error, Result};
use crate::ids::{Code, IdMap, LeafId};
use crate::loss::Weights;
use crate::policy::Policy;
use crate::table::{Dictionary, Type};
use crate::taxonomy::{Axis, Binding, Hierarchy, Taxonomy, bind};
use std::path::Path;
use std::sync::Arc;

/// What a policy declares about the values of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'a> {
    /// How they are generalized.
    pub(crate) hierarchy: &'a Hierarchy,
    /// Their type; inferred if `None`.
    pub(crate) kind: Option<Type>,
    /// Those that mean "missing", besides the empty one.
    pub(crate) missing: &'a [String],
}

/// A quasi-identifier with its tree.
#[derive(Debug)]
pub(crate) struct BoundKey {
    /// The tree.
    pub(crate) taxonomy: Arc<Taxonomy>,
    /// The column as a dimension that can be split.
    pub(crate) axis: Axis,
    /// The type of its values, as declared or as found.
    pub(crate) kind: Type,
    /// Where each leaf lies on the number line; empty for text.
    pub(crate) numbers: Vec<f64>,
    /// The leaf of each code of the column's dictionary.
    pub(crate) leaf_of: IdMap<Code, LeafId>,
    /// The leaf of each value of the world, if one is known: of each code of a population's
    /// dictionary, or of each line of the marginals.
    pub(crate) world: Vec<LeafId>,
}

impl<'a> Declared<'a> {
    /// The tree of a column over its values; `name` and `file` are for messages.
    pub(crate) fn bind(self, name: &str, values: &Dictionary, file: &Path) -> Result<Binding> {
        bind(self.hierarchy, self.kind, self.missing, values, name, file)
    }

    /// The same for a quasi-identifier.
    pub(crate) fn bind_key(self, name: &str, values: &Dictionary, file: &Path) -> Result<BoundKey> {
        let Binding { taxonomy, leaf_of, kind, numbers } = self.bind(name, values, file)?;
        let taxonomy = Arc::new(taxonomy);
        let axis = Binding::axis(self.hierarchy, kind, &numbers, &taxonomy);
        Ok(BoundKey { taxonomy, axis, kind, numbers, leaf_of, world: Vec::new() })
    }
}

impl Policy {
    /// The weights of some quasi-identifiers.
    pub(crate) fn weights<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Weights> {
        let weight = |name: &str| self.attribute(name).and_then(|attribute| attribute.weight);
        let given: Vec<_> = names.into_iter().map(weight).collect();
        // Those of all columns together were checked when the policy was read.
        Weights::new(&given).ok_or(Error::Defect)
    }

    /// What the policy declares about a column's values.
    pub(crate) fn declared(&self, name: &str) -> Declared<'_> {
        let attribute = self.attribute(name);
        Declared {
            hierarchy: attribute.map_or(&Hierarchy::None, |attribute| &attribute.hierarchy),
            kind: attribute.and_then(|attribute| attribute.kind),
            missing: self.missing_of(name),
        }
    }
}
