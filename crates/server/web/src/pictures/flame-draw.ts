// Draws the boxes of a flame graph that are in sight on a canvas.
import type { FlameBox, Frame } from "./flame-layout";
import { changeColour, frameName, hash, hue, HUES, kindOf, packageOf, shorten } from "./names";

export const ROW = 19;
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

export interface Look {
  dark: boolean;
  byPackage: boolean;
  /** Set for a comparison: the change that has the full colour. */
  mostChange: number | null;
  flags: Uint8Array | null;
  leavesAreClasses: boolean;
  icicle: boolean;
}

export function colourOf(frame: Frame, look: Look): string {
  const { dark } = look;
  if (!frame.above) return dark ? "#6f757c" : "#e2e5e9";
  if (look.flags?.[frame.node.f]) return dark ? "#c084fc" : "#d9a8ff";
  if (look.mostChange !== null) return changeColour((frame.node.d ?? 0) / look.mostChange, dark);
  const { name } = frame;
  if (look.byPackage) {
    const own = packageOf(name);
    return own ? hue(hash(own) % 360, hash(name) % 6, dark) : hue(-1, 0, dark);
  }
  return hue(HUES[kindOf(name, look.leavesAreClasses && !frame.node.c?.length)], hash(name), dark);
}

export const topOf = (level: number, rows: number, icicle: boolean) => (icicle ? level : rows - 1 - level) * ROW;

let letter = 0;

export function draw(canvas: HTMLCanvasElement, rows: FlameBox[][], from: number, look: Look, chosen: Frame | null, hover: Frame | null, allName: string): void {
  const brush = canvas.getContext("2d");
  if (!brush) return;
  const dots = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: high } = canvas;
  canvas.width = Math.max(1, Math.round(width * dots));
  canvas.height = Math.max(1, Math.round(high * dots));
  brush.setTransform(dots, 0, 0, dots, 0, 0);
  brush.font = FONT;
  brush.textBaseline = "middle";
  letter ||= brush.measureText("MMMMMMMMMM").width / 10;
  const ring = (box: FlameBox, y: number, colour: string, thick: number) => {
    brush.lineWidth = thick;
    brush.strokeStyle = colour;
    brush.strokeRect(box.x + thick / 2, y + thick / 2, Math.max(2, box.w - thick), ROW - 1 - thick);
  };
  rows.forEach((row, level) => {
    const y = topOf(level, rows.length, look.icicle) - from;
    if (y + ROW < 0 || y > high) return;
    for (const box of row) {
      if (box.narrow) {
        brush.fillStyle = look.dark ? "#4a5058" : "#c3c8ce";
        brush.fillRect(box.x, y, Math.max(0.6, box.w), ROW - 1);
        continue;
      }
      brush.globalAlpha = box.above ? 0.55 : 1;
      brush.fillStyle = colourOf(box.frame, look);
      brush.fillRect(box.x, y, box.w > 2 ? box.w - 0.5 : box.w, ROW - 1);
      brush.globalAlpha = 1;
      if (box.w >= 3 * letter + 6) {
        brush.fillStyle = look.dark && box.above ? "#f2f4f6" : "#14171a";
        brush.fillText(shorten(box.frame.above ? frameName(box.frame.name) : allName, Math.floor((box.w - 6) / letter)), box.x + 3, y + ROW / 2);
      }
      if (box.frame === hover && hover !== chosen) ring(box, y, look.dark ? "#ffffff" : "#30363d", 1);
      if (box.frame === chosen) {
        ring(box, y, look.dark ? "#17191c" : "#ffffff", 4);
        ring(box, y, look.dark ? "#86b1f0" : "#2458a6", 2);
      }
    }
  });
}
