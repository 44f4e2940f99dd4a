// Sizes over time as a small picture that begins at zero; its text has the numbers.
const WIDTH = 100;
const HEIGHT = 20;
const EDGE = 3;

export function Trend({ sizes, label }: { sizes: number[]; label: string }) {
  const most = Math.max(1, ...sizes);
  const step = (WIDTH - 2 * EDGE) / Math.max(1, sizes.length - 1);
  const points = sizes.map((size, at) => [EDGE + at * step, HEIGHT - EDGE - (size / most) * (HEIGHT - 2 * EDGE)] as const);
  const [x, y] = points.at(-1) ?? [EDGE, HEIGHT - EDGE];
  const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  return (
    <svg class="trend" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <polygon points={`${EDGE},${HEIGHT} ${line} ${x.toFixed(1)},${HEIGHT}`} />
      <polyline points={line} />
      <circle cx={x} cy={y} r="2.5" />
    </svg>
  );
}
