// Areas in squarified rows (Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
export interface Box<T> {
  item: T;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Lays items out in their order, best the largest first, in a rectangle that stands for `total`. What
 * no item covers is left free. */
export function squarify<T extends { bytes: number }>(items: T[], x: number, y: number, w: number, h: number, total: number): Box<T>[] {
  let rest = items.filter((item) => item.bytes > 0);
  const boxes: Box<T>[] = [];
  while (rest.length && total > 0 && w >= 1 && h >= 1) {
    const short = Math.min(w, h);
    const scale = (w * h) / total;
    const ratio = (bytes: number, side: number) => {
      const length = (bytes * scale) / side;
      return Math.max(side / length, length / side);
    };
    let taken = 0;
    let sum = 0;
    let worst = Infinity;
    for (const item of rest) {
      const side = ((sum + item.bytes) * scale) / short;
      // In a row of falling sizes the first and the last are the least square.
      const next = Math.max(ratio(rest[0]!.bytes, side), ratio(item.bytes, side));
      if (next > worst) break;
      taken++;
      sum += item.bytes;
      worst = next;
    }
    const side = (sum * scale) / short;
    let at = 0;
    for (const item of rest.slice(0, taken)) {
      const length = (item.bytes * scale) / side;
      boxes.push(w >= h ? { item, x, y: y + at, w: side, h: length } : { item, x: x + at, y, w: length, h: side });
      at += length;
    }
    if (w >= h) {
      x += side;
      w -= side;
    } else {
      y += side;
      h -= side;
    }
    total -= sum;
    rest = rest.slice(taken);
  }
  return boxes;
}
