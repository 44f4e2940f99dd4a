// Icons as strokes of one width, drawn by us.
const PATHS = {
  more: "M3 8h.01M8 8h.01M13 8h.01",
  pin: "M5.5 2.5h5l-.8 4 2.3 2.5H4l2.3-2.5zM8 9v5",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z",
  close: "M4 4l8 8M12 4l-8 8",
  right: "M6 3.5L10.5 8 6 12.5",
  down: "M3.5 6L8 10.5 12.5 6",
  left: "M10 3.5L5.5 8 10 12.5",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  upload: "M8 11V3M4.8 6L8 2.8 11.2 6M3 10.5V13h10v-2.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4L13.5 13.5",
  play: "M5 3.2v9.6L12.5 8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  alert: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.3h.01",
  check: "M3.5 8.5l3 3 6-7",
  swap: "M3 5.5h9L9.5 3M13 10.5H4L6.5 13",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  const heavy = name === "more";
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width={heavy ? 2.2 : 1.5} stroke-linecap="round" stroke-linejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}
