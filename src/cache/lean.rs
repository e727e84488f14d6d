//! What only a fleet asks of a cache: to keep nothing beside its engine, and to
//! say what it holds without being sent anything.

use super::model::Model;
use super::rules;
use super::state::{Admitted, Cache, Engine, Place, Query};

impl Cache {
    /// An empty cache that keeps nothing beside its engine, so that its memory
    /// is bounded by its capacity: what it calls eligible is what it can return.
    ///
    /// A model without a capacity remembers every prompt, as in [`Cache::new`].
    pub fn without_history(model: &Model) -> Self {
        let mut cache = Self::new(model, None);
        cache.history = !matches!(cache.engine, Engine::Pool(_));
        cache
    }

    /// What [`Cache::admit`] would call the bound, without a request: for a
    /// router that asks every replica. Slots are taken for one large cache.
    pub fn would_read(&self, query: &Query<'_>) -> u64 {
        let salt = query.salt.filter(|_| self.model.knows_salt());
        if let Engine::Pool(pool) = &self.engine {
            return pool.peek(query.ids, salt) as u64;
        }
        let Some(world) = self.worlds.get(&salt.map(str::to_owned)) else {
            return 0;
        };
        let walk = world.tree.walk(query.ids, self.alive_from(query.at_ms));
        rules::verdict(&self.model, query, &walk).read as u64
    }

    /// Full blocks that made room for others since the cache was made or reset;
    /// 0 where nothing is ever full.
    pub fn evicted(&self) -> u64 {
        match &self.engine {
            Engine::Pool(pool) => pool.evicted(),
            Engine::Tree | Engine::Slots(_) => 0,
        }
    }

    /// As [`Cache::admit`], from what the pool holds alone.
    pub(super) fn admit_to_pool(&mut self, query: &Query<'_>) -> Admitted {
        let (held, place) = match &mut self.engine {
            Engine::Pool(pool) => {
                let (held, holding) = pool.admit(query.ids, query.salt);
                (held, Place::Blocks(holding))
            }
            Engine::Tree | Engine::Slots(_) => (0, Place::Nothing),
        };
        let full = match self.model {
            Model::Blocks { size, .. } => Some(query.ids.len() / size * size.get()),
            _ => None,
        };
        Admitted {
            eligible: held as u64,
            bound: held as u64,
            created: full.map(|full| full.saturating_sub(held) as u64),
            created_long: 0,
            handle: self.take_off(query, query.salt, Vec::new(), place),
        }
    }
}
