/** Pages of a list that the API gives piece by piece: each begins after the last row of the one before. */
import { useState } from "preact/hooks";

export type Pages = {
  /** The last row before this page; undefined for the first page. */
  readonly after: string | undefined;
  /** Of this page, from 1 on. */
  readonly number: number;
  readonly back: () => void;
  readonly forth: (after: string) => void;
  readonly restart: () => void;
};

export function usePages(): Pages {
  const [earlier, setEarlier] = useState<readonly string[]>([]);
  return {
    after: earlier.at(-1),
    number: earlier.length + 1,
    back: () => setEarlier(earlier.slice(0, -1)),
    forth: (after) => setEarlier([...earlier, after]),
    restart: () => setEarlier([]),
  };
}

type Props = {
  readonly pages: Pages;
  /** Where the next page begins; undefined on the last one. */
  readonly next: string | undefined;
  readonly names: { readonly back: string; readonly forth: string };
};

export function PageButtons({ pages, next, names }: Props) {
  return (
    <div class="buttons">
      <button type="button" disabled={pages.after === undefined} onClick={pages.back}>
        {names.back}
      </button>
      <button
        type="button"
        disabled={next === undefined}
        onClick={() => {
          if (next !== undefined) pages.forth(next);
        }}
      >
        {names.forth}
      </button>
    </div>
  );
}
