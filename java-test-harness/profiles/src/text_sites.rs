//! The SITES table of the text format.

/// A SITES table.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct SiteTable {
    /// Ordered by the bytes ever allocated, and not by those alive.
    pub by_allocated: bool,
    /// Rows, in order.
    pub rows: Vec<SiteRow>,
}

/// A row of a SITES table.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteRow {
    /// 1 for the first row.
    pub rank: u32,
    /// Percentage of all live bytes.
    pub self_percent: f64,
    /// Running sum of the percentages.
    pub accumulated_percent: f64,
    /// Bytes alive.
    pub live_bytes: u64,
    /// Objects alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
    /// Trace serial.
    pub trace: u32,
    /// Name of the class.
    pub class: String,
}

/// The two lines above the rows; tools compare the second one.
pub(crate) const HEADS: [&str; 2] = [
    "          percent          live          alloc'ed  stack class",
    " rank   self  accum     bytes objs     bytes  objs trace name",
];

pub(crate) fn parse_row(line: &str) -> Option<SiteRow> {
    let mut fields = line.split_whitespace();
    Some(SiteRow {
        rank: fields.next()?.parse().ok()?,
        self_percent: fields.next()?.strip_suffix('%')?.parse().ok()?,
        accumulated_percent: fields.next()?.strip_suffix('%')?.parse().ok()?,
        live_bytes: fields.next()?.parse().ok()?,
        live_objects: fields.next()?.parse().ok()?,
        allocated_bytes: fields.next()?.parse().ok()?,
        allocated_objects: fields.next()?.parse().ok()?,
        trace: fields.next()?.parse().ok()?,
        class: fields.collect::<Vec<_>>().join(" "),
    })
}

/// Ranks and order follow from the figures, and no more lives than was allocated. `exact` figures
/// are no estimates.
pub(crate) fn check(table: &SiteTable, exact: bool) -> Result<(), String> {
    let (mut rank, mut before, mut percent) = (0, u64::MAX, 0.0);
    for row in &table.rows {
        let order = match table.by_allocated {
            true => row.allocated_bytes,
            false => row.live_bytes,
        };
        rank += 1;
        percent += row.self_percent;
        let right = row.rank == rank
            && order <= before
            && (row.accumulated_percent - percent).abs() < 0.0051 * f64::from(rank + 1)
            && row.accumulated_percent < 100.0051
            && (!exact || row.live_objects <= row.allocated_objects)
            && (!exact || row.live_bytes <= row.allocated_bytes);
        right
            .then_some(())
            .ok_or_else(|| format!("row {row:?} does not follow from the figures"))?;
        before = order;
    }
    Ok(())
}
