/** A list of any length that draws only the rows in sight. All rows are of one height; arrows, Page Up, Page Down, Home and End scroll it. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

type Props<Row> = {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly draw: (row: Row) => ComponentChildren;
  /** What stands in place of the list without a row. */
  readonly empty: string;
};

/** Also the height of a row in styles.css. Narrow screens have rows of two lines. */
const rowPixels = { wide: 36, narrow: 60 } as const;
const extraRows = 6;
const narrow = matchMedia("(max-width: 640px)");

export function VirtualList<Row>({ label, rows, keyOf, draw, empty }: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, isNarrow: narrow.matches });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = () => setView({ top: element.scrollTop, height: element.clientHeight, isNarrow: narrow.matches });
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [rows.length === 0]);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const pixels = view.isNarrow ? rowPixels.narrow : rowPixels.wide;
  const first = Math.max(0, Math.min(rows.length - 1, Math.floor(view.top / pixels) - extraRows));
  const shown = rows.slice(first, first + Math.ceil(view.height / pixels) + 2 * extraRows);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must take the keyboard's focus.
    <section class="virtual" ref={box} tabIndex={0} aria-label={label}>
      <ul class="virtual-all" style={{ height: `${rows.length * pixels}px` }}>
        {shown.map((row, index) => (
          <li
            class="row"
            key={keyOf(row)}
            aria-setsize={rows.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * pixels}px` }}
          >
            {draw(row)}
          </li>
        ))}
      </ul>
    </section>
  );
}
