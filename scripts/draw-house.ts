/** Draws docs/house.svg from the folders of src. Written by `npm run docs`; the same tree gives the same bytes. */
import { type Folder, floorsOf, type Room, readHouse } from "./house.ts";

const margin = 24;
const headHeight = 84;
const bandWidth = 620;
const bandGap = 18;
/** Between two arrows that end at the same folder. */
const arrowGap = 15;
const roomHeight = 26;
const roomGap = 8;
/** Where rooms begin, right of the folder's name. */
const roomsLeft = 118;
/** Room for `◀ fileserver 12`, right of a folder. */
const arrowTextWidth = 124;
const columnGap = 13;
/** Of a letter of the rooms' names, pixels: somewhat more than the common sans-serif fonts have. */
const letterWidth = 6.9;
/** Degrees between the colours of neighbours: far apart, and none of 16 comes twice. */
const hueStep = 67;

type Box = { readonly room: Room; readonly left: number; readonly top: number; readonly width: number };
type Arrow = { readonly from: string; readonly to: string; readonly count: number; readonly y: number };
type Band = {
  readonly folder: Folder;
  readonly top: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly incoming: readonly Arrow[];
};

const styles = `
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
const colourOf = (index: number) => `hsl(${(index * hueStep) % 360}, 60%, 54%)`;
const shownName = (folder: Folder, room: Room) => (room.name === "" ? `${folder.name}/*.ts` : room.name);
const boxText = (folder: Folder, room: Room) => `${shownName(folder, room)} · ${room.fileCount}`;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** Boxes of a folder, floor below floor; a floor that is too wide goes on in another line. */
function placeBoxes(folder: Folder, top: number): { boxes: Box[]; bottom: number } {
  const boxes: Box[] = [];
  let y = top;
  for (const floor of floorsOf(folder.rooms)) {
    let left = margin + roomsLeft;
    for (const room of floor) {
      const width = Math.round(boxText(folder, room).length * letterWidth) + 16;
      if (left + width > margin + bandWidth - roomGap) {
        left = margin + roomsLeft;
        y += roomHeight + roomGap / 2;
      }
      boxes.push({ room, left, top: y, width });
      left += width + roomGap;
    }
    y += roomHeight + roomGap;
  }
  return { boxes, bottom: y };
}

function placeBand(folder: Folder, folders: readonly Folder[], top: number): Band {
  const { boxes, bottom } = placeBoxes(folder, top + roomGap);
  const importers = folders.filter(({ imports }) => imports.has(folder.name));
  const incoming = importers.map(({ name, imports }, index) => {
    const y = top + 27 + index * arrowGap;
    return { from: name, to: folder.name, count: imports.get(folder.name) ?? 0, y };
  });
  const arrowsHeight = 36 + incoming.length * arrowGap;
  return { folder, top, height: Math.max(bottom - top, arrowsHeight, 52), boxes, incoming };
}

function placeBands(folders: readonly Folder[]): Band[] {
  const bands: Band[] = [];
  let top = margin + headHeight;
  for (const folder of folders) {
    const band = placeBand(folder, folders, top);
    bands.push(band);
    top += band.height + bandGap;
  }
  return bands;
}

function text(x: number, y: number, words: string, className = ""): string {
  return `<text x="${x}" y="${y}"${className === "" ? "" : ` class="${className}"`}>${words}</text>`;
}

function drawBand({ folder, top, height, boxes }: Band): string[] {
  const fileCount = sum(folder.rooms.map((room) => room.fileCount));
  return [
    `<rect class="band" x="${margin}" y="${top}" width="${bandWidth}" height="${height}" rx="8"/>`,
    text(margin + 14, top + 26, folder.name, "name"),
    text(margin + 14, top + 43, fileCount === 1 ? "1 file" : `${fileCount} files`, "quiet"),
    ...boxes.flatMap((box) => [
      `<rect class="room" x="${box.left}" y="${box.top}" width="${box.width}" height="${roomHeight}" rx="5"/>`,
      text(box.left + 8, box.top + 17, boxText(folder, box.room)),
    ]),
  ];
}

/** One way for each folder that imports: out at its top right, down its own column, and into each folder that it imports. */
function drawWay(band: Band, index: number, bands: readonly Band[]): string[] {
  const arrows = bands.flatMap(({ incoming }) => incoming.filter(({ from }) => from === band.folder.name));
  const last = arrows.at(-1);
  if (last === undefined) return [];
  const right = margin + bandWidth;
  const column = right + arrowTextWidth + (bands.length - index) * columnGap;
  const start = band.top + 12;
  const branches = arrows.map(({ y }) => `M${column} ${y}H${right + 8}`).join("");
  const colour = colourOf(index);
  return [
    `<path class="way" style="stroke: ${colour}" d="M${right} ${start}H${column}V${last.y}${branches}"/>`,
    ...arrows.flatMap(({ y, count }) => {
      const words = `${band.folder.name} ${count}`;
      const width = Math.round(words.length * letterWidth) + 6;
      return [
        `<path style="fill: ${colour}" d="M${right + 1} ${y}l9 -4.5v9z"/>`,
        `<rect class="paper" x="${right + 14}" y="${y - 7}" width="${width}" height="14"/>`,
        text(right + 17, y + 4, words),
      ];
    }),
  ];
}

/** The drawing of the tree under `root`. */
export function houseDrawing(root: string): string {
  const bands = placeBands(readHouse(root));
  const lowest = bands.at(-1);
  const width = margin * 2 + bandWidth + arrowTextWidth + (bands.length + 1) * columnGap;
  const height = margin + (lowest === undefined ? headHeight : lowest.top + lowest.height);
  const head = [
    text(margin, margin + 20, "The folders of src and what they import", "title"),
    text(
      margin,
      margin + 44,
      "A folder imports only folders below it. An arrow at a folder names one that imports it, and the number of imports.",
      "quiet",
    ),
    text(
      margin,
      margin + 62,
      "A box is a room with its number of files. Inside a folder a room imports only rooms in lines below it.",
      "quiet",
    ),
  ];
  return `${[
    "<!-- Written by `npm run docs` from src and test/tidy/layers.ts. -->",
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    "<title>The folders of src and what they import</title>",
    `<style>${styles}\n</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...head,
    ...bands.flatMap(drawBand),
    ...bands.flatMap((band, index) => drawWay(band, index, bands)),
    "</svg>",
  ].join("\n")}\n`;
}
