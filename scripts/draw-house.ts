/** Draws docs/house.svg from the folders of src. Written by `npm run docs`; the same tree gives the same bytes. */
import { type Folder, fileCountOf, floorsOf, type Room, readHouse } from "./house.ts";
import { colourOf, filesText, letterWidth, svg, text } from "./svg.ts";

const margin = 24;
const headHeight = 84;
const bandWidth = 620;
const bandGap = 18;
/** Pixels between two arrows that end at the same folder. */
const arrowGap = 15;
const roomHeight = 26;
const roomGap = 8;
/** Where rooms begin, to the right of the folder's name. */
const roomsLeft = 118;
/** Width of `◀ fileserver 12`, to the right of a folder. */
const arrowTextWidth = 124;
const columnGap = 13;
const title = "The folders of src and what they import";

type Box = { readonly room: Room; readonly left: number; readonly top: number; readonly width: number };
type Arrow = { readonly from: string; readonly to: string; readonly count: number; readonly y: number };
type Band = {
  readonly folder: Folder;
  readonly top: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly incoming: readonly Arrow[];
};

const shownName = (folder: Folder, room: Room) => (room.name === "" ? `${folder.name}/*.ts` : room.name);
const boxText = (folder: Folder, room: Room) => `${shownName(folder, room)} · ${room.fileCount}`;

/** Boxes of a folder, floor below floor. A floor that is too wide continues in another line. */
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

function drawBand({ folder, top, height, boxes }: Band): string[] {
  const fileCount = fileCountOf(folder);
  return [
    `<rect class="band" x="${margin}" y="${top}" width="${bandWidth}" height="${height}" rx="8"/>`,
    text(margin + 14, top + 26, folder.name, "name"),
    text(margin + 14, top + 43, filesText(fileCount), "quiet"),
    ...boxes.flatMap((box) => [
      `<rect class="room" x="${box.left}" y="${box.top}" width="${box.width}" height="${roomHeight}" rx="5"/>`,
      text(box.left + 8, box.top + 17, boxText(folder, box.room)),
    ]),
  ];
}

/** One arrow for each importing folder: out at its top right, down its own column, and into each folder that it imports. */
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
    text(margin, margin + 20, title, "title"),
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
  return svg(title, width, height, [
    ...head,
    ...bands.flatMap(drawBand),
    ...bands.flatMap((band, index) => drawWay(band, index, bands)),
  ]);
}
