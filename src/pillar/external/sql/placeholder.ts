/** Turns a query in Python's format (`%s` for the minion's id, `%%` for a percent sign) into one with the database's own placeholder. */
import { sourceFault } from "../../input/source-fault.ts";

/** @param placeholder - `?` or `$1`. The database binds the id to it, so that an id is never part of the query. */
export function withPlaceholder(query: string, placeholder: string): string {
  let count = 0;
  const text = query.replaceAll(/%(.?)/gs, (_match, kind: string) => {
    if (kind === "%") return "%";
    if (kind !== "s") throw sourceFault(`unsupported format character '${kind}' in a query; a percent sign is %%`);
    count += 1;
    return placeholder;
  });
  if (count === 0) throw sourceFault("not all arguments converted during string formatting: a query has no %s");
  if (count > 1) throw sourceFault("not enough arguments for format string: a query has more than one %s");
  return text;
}
