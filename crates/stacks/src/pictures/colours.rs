//! The colours of frames.

use inferno::flamegraph::color::{Color, PaletteMap};

use super::kinds::{Kind, kind_of};
use crate::call_tree::{CallTree, Node};

/// A colour for each name in a tree. Equal names get equal colours, so that two pictures can be
/// laid side by side. `ends_in_class` tells that leaves are classes.
pub fn of(tree: &CallTree, ends_in_class: bool) -> PaletteMap {
    let mut map = PaletteMap::default();
    let mut open: Vec<&Node> = tree.roots.iter().collect();
    while let Some(node) = open.pop() {
        open.extend(&node.children);
        let is_class = ends_in_class && node.children.is_empty();
        let frame = super::collapsed::frame(&node.name);
        map.insert(&frame, of_frame(&frame, is_class));
    }
    map
}

fn of_frame(name: &str, is_class: bool) -> Color {
    let kind = match kind_of(name) {
        kind @ (Kind::Other | Kind::Native | Kind::Kernel) => kind,
        _ if is_class => Kind::Class,
        kind => kind,
    };
    let shade = (hash(name) % 16) as u8;
    match kind {
        Kind::Program => colour(30, shade),
        Kind::Jdk => colour(110, shade),
        Kind::Class => colour(205, shade),
        Kind::Native => colour(330, shade),
        Kind::Kernel => colour(268, shade),
        Kind::Other => Color::new(200, 200, 200),
    }
}

/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>): the same on every machine.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A light colour of a hue (degrees, as in CSS), in one of 16 shades that a reader can distinguish.
const fn colour(hue: u32, shade: u8) -> Color {
    let hue = hue + 2 * shade as u32;
    // From HSL with a saturation of about 70 % and lightness of about 70 %, in whole numbers.
    let (high, low) = (232, 146 + shade as u32);
    let step = hue % 60;
    let rising = low + (high - low) * step / 60;
    let falling = high - (high - low) * step / 60;
    let (r, g, b) = match hue / 60 % 6 {
        0 => (high, rising, low),
        1 => (falling, high, low),
        2 => (low, high, rising),
        3 => (low, falling, high),
        4 => (rising, low, high),
        _ => (high, low, falling),
    };
    Color::new(r as u8, g as u8, b as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hues_tell_the_program_from_the_jdk() {
        let program = of_frame("app.Main.run", false);
        assert!(program.r > program.g && program.g > program.b, "{program}");
        let jdk = of_frame("java.util.HashMap.put", false);
        assert!(jdk.g > jdk.r && jdk.g > jdk.b, "{jdk}");
        let class = of_frame("java.lang.String", true);
        assert!(class.b > class.g && class.g >= class.r, "{class}");
        let native = of_frame("[native] deflate", true);
        assert!(native.r > native.b && native.b > native.g, "{native}");
        assert_eq!(kind_of("JavaThread::run"), Kind::Native);
        let kernel = of_frame("[kernel] schedule", true);
        assert!(kernel.b > kernel.r && kernel.r > kernel.g, "{kernel}");
        assert_eq!(kind_of("do_futex_[k]"), Kind::Kernel);
        assert_eq!(of_frame("[waiting]", false), Color::new(200, 200, 200));
        assert_eq!(of_frame("<empty trace>", false), Color::new(200, 200, 200));
    }
}
