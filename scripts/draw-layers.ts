/** Draws docs/layers.svg, the folders of src. docs/house.svg has their rooms. Run by `npm run docs`; the same tree gives the same bytes. */
import { type Folder, fileCountOf, readHouse } from "./house.ts";
import { layLayers, type Place, type Way, withoutShortcuts } from "./layout-layers.ts";
import { colourOf, filesText, letterWidth, svg, text } from "./svg.ts";

const margin = 24;
const headHeight = 70;
const boxHeight = 46;
const rowHeight = 92;
/** Pixels of a letter of a folder's name, which is larger than other texts. */
const nameWidth = 9;
const boxPadding = 28;
/** Pixels between the starts or ends of two arrows at one box. */
const portGap = 16;
const arrowLength = 9;
const title = "The folders of src, at one look";

function countText(folder: Folder): string {
  const { rooms } = folder;
  const files = filesText(fileCountOf(folder));
  return rooms.length === 1 ? files : `${files}, ${rooms.length} rooms`;
}

const topOf = ({ row }: Place) => margin + headHeight + row * rowHeight;

/** Where an arrow leaves its upper box: beside the box's other arrows, in the order of their targets. */
function startOf(way: Way, ways: readonly Way[]): number {
  const nextOf = ({ passes, lower }: Way) => (passes[0] ?? lower).x;
  const others = ways.filter(({ from }) => from === way.from).sort((a, b) => nextOf(a) - nextOf(b));
  return Math.round(way.upper.x + (others.indexOf(way) - (others.length - 1) / 2) * portGap);
}

/** Where an arrow reaches its lower box: beside the box's other arrows, in the order of their origins. */
function endOf(way: Way, ways: readonly Way[]): number {
  const formerOf = ({ passes, upper }: Way) => (passes.at(-1) ?? upper).x;
  const others = ways.filter(({ to }) => to === way.to).sort((a, b) => formerOf(a) - formerOf(b));
  return Math.round(way.lower.x + (others.indexOf(way) - (others.length - 1) / 2) * portGap);
}

function drawWay(way: Way, ways: readonly Way[], colour: string): string[] {
  const end = { x: endOf(way, ways), y: topOf(way.lower) };
  let from = { x: startOf(way, ways), y: topOf(way.upper) + boxHeight };
  const passes = way.passes.flatMap((place) => {
    const x = Math.round(place.x);
    return [
      { x, y: topOf(place) },
      { x, y: topOf(place) + boxHeight },
    ];
  });
  let path = `M${from.x} ${from.y}`;
  for (const point of [...passes, { x: end.x, y: end.y - arrowLength }]) {
    const middle = Math.round((from.y + point.y) / 2);
    path += point.x === from.x ? `V${point.y}` : `C${from.x} ${middle} ${point.x} ${middle} ${point.x} ${point.y}`;
    from = point;
  }
  return [
    `<path class="way" style="stroke: ${colour}" d="${path}"/>`,
    `<path style="fill: ${colour}" d="M${end.x} ${end.y - 1}l-4.5 -9h9z"/>`,
  ];
}

function drawBox(place: Place, folder: Folder): string[] {
  const left = Math.round(place.x - place.width / 2);
  const top = topOf(place);
  return [
    `<rect class="band" x="${left}" y="${top}" width="${place.width}" height="${boxHeight}" rx="8"/>`,
    text(left + boxPadding / 2, top + 20, folder.name, "name"),
    text(left + boxPadding / 2, top + 37, countText(folder), "quiet"),
  ];
}

/** The drawing of the tree under `root`. */
export function layersDrawing(root: string): string {
  const folders = readHouse(root);
  const folderOf = new Map(folders.map((folder) => [folder.name, folder]));
  const widthOf = (name: string) => {
    const folder = folderOf.get(name);
    const counts = folder === undefined ? 0 : countText(folder).length * letterWidth;
    return Math.round(Math.max(name.length * nameWidth, counts)) + boxPadding;
  };
  const edges = folders.flatMap(({ name, imports }) => [...imports.keys()].map((to) => ({ from: name, to })));
  const names = folders.map(({ name }) => name);
  const { rows, ways } = layLayers(names, withoutShortcuts(edges), widthOf);
  const places = rows.flat();
  for (const place of places) place.x += margin;
  const head = [
    text(margin, margin + 20, title, "title"),
    text(
      margin,
      margin + 44,
      "A folder imports only folders below it. An arrow leads to a folder that is imported. Arrows that longer ways imply are left out.",
      "quiet",
    ),
  ];
  const width = margin + Math.round(Math.max(760, ...places.map((place) => place.x + place.width / 2)));
  const height = margin * 2 + headHeight + (rows.length - 1) * rowHeight + boxHeight;
  return svg(title, width, height, [
    ...head,
    ...ways.flatMap((way) => drawWay(way, ways, colourOf(names.indexOf(way.from)))),
    ...places.flatMap((place) => {
      const folder = folderOf.get(place.name);
      return folder === undefined ? [] : drawBox(place, folder);
    }),
  ]);
}
