/** Lists of values in statements. Their lengths are a few fixed numbers, so that few statements are prepared. */

const lengths = [1, 4, 16, 64, 256, 1_024, 4_096];

/** `marks`: for `IN (...)`. The last value is repeated to fill the list. */
export function inList<Value>(all: readonly Value[]): { readonly marks: string; readonly values: readonly Value[] } {
  const values = [...new Set(all)];
  const length = lengths.find((each) => each >= values.length) ?? values.length;
  const last = values.at(-1);
  while (last !== undefined && values.length < length) values.push(last);
  return { marks: Array(values.length).fill("?").join(", "), values };
}
