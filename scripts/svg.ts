/** What the drawings of the tree share: colours, fonts and texts. Pure. */

/** Pixels of a letter: slightly more than in the common sans-serif fonts. */
export const letterWidth = 6.9;
/** Degrees between the colours of neighbours: far apart, and all of 16 differ. */
const hueStep = 67;

export const styles = `
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2430; }
  .title { font-size: 20px; font-weight: 600; }
  .name { font-size: 15px; font-weight: 600; }
  .quiet { fill: #5b6372; }
  .paper { fill: #ffffff; }
  .band { fill: #eef1f6; stroke: #c9cfda; }
  .room { fill: #ffffff; stroke: #c9cfda; }
  .way { fill: none; stroke-width: 1.6; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8ebf1; }
    .quiet { fill: #a3acbb; }
    .paper { fill: #14171d; }
    .band { fill: #1e232c; stroke: #465063; }
    .room { fill: #2a313d; stroke: #465063; }
  }`;

/** Readable on white and on near-black. */
export function colourOf(index: number): string {
  return `hsl(${(index * hueStep) % 360}, 60%, 54%)`;
}

export function text(x: number, y: number, words: string, className = ""): string {
  return `<text x="${x}" y="${y}"${className === "" ? "" : ` class="${className}"`}>${words}</text>`;
}

export function filesText(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}

/** A whole drawing. */
export function svg(title: string, width: number, height: number, elements: readonly string[]): string {
  return `${[
    "<!-- Written by `npm run docs` from src and test/tidy/layers.ts. -->",
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${styles}\n</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...elements,
    "</svg>",
  ].join("\n")}\n`;
}
