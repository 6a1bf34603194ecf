/** Finds an outputter by name and renders one value as one document. Source: docs/compatibility.md, "Outputters". */

import { stripEnd } from "../../python/text.ts";
import { yamlText } from "../../python/yaml-writer.ts";
import type { Value } from "../../wire/values.ts";
import { type HighstateOptions, isHighstate, renderHighstate, runsIn } from "./highstate.ts";
import { type JsonIndent, renderJson } from "./json.ts";
import { renderKeyLists } from "./key-lists.ts";
import { renderNested } from "./nested.ts";
import { renderNoReturn } from "./no-return.ts";
import { renderNewlineValuesOnly, renderRaw, renderTxt } from "./plain-text.ts";
import { renderPprint } from "./pprint.ts";
import { renderProfile } from "./profile.ts";
import { renderMachines, renderStages } from "./runner-lists.ts";
import { renderTable, type TableOptions } from "./table.ts";

export type OutputOptions = {
  readonly colour: boolean;
  /** `--out-indent` or `output_indent`. Undefined: the outputter's own default. */
  readonly indent?: JsonIndent;
  /** The return's exit code. With any code but 0 the `nested` outputter shows keys in red. */
  readonly retcode?: number;
  /** The `nested` outputter keeps the order of a map's keys instead of sorting them. */
  readonly isOrdered?: boolean;
  /** Settings for state runs. */
  readonly states?: HighstateOptions;
  /** `out.table.*`, for the outputters `table` and `profile`. */
  readonly table?: TableOptions;
};

type Outputter = (value: Value, options: OutputOptions) => string | undefined;

const outputters: Readonly<Record<string, Outputter>> = {
  highstate: (value, o) => {
    const runs = runsIn(value);
    return isHighstate(runs) ? renderHighstate(runs, o.colour, o.states) : undefined;
  },
  json: (value, o) => renderJson(value, o.indent),
  key: renderKeyLists,
  nested: renderNestedAt,
  newline_values_only: renderNewlineValuesOnly,
  no_return: renderNoReturn,
  overstatestage: renderStages,
  pprint: (value, o) => renderPprint(value, pprintIndent(o.indent)),
  profile: (value, o) => renderProfile(value, o.colour, o.table),
  quiet: () => "",
  raw: renderRaw,
  table: (value, o) => renderTable(value, o.colour, o.table),
  text: renderTxt,
  txt: renderTxt,
  virt_query: renderMachines,
  yaml: (value, o) => yamlText(value, yamlIndent(o.indent)),
};

/** Every valid name for `--out`. */
export const outputterNames: readonly string[] = Object.keys(outputters);

/** The log line for an unknown outputter. The `nested` outputter replaces it. */
export function unknownOutputterText(name: string): string {
  return `Invalid outputter ${name} specified, fall back to nested`;
}

export function isOutputter(name: string): boolean {
  return Object.hasOwn(outputters, name);
}

/**
 * Renders one document without trailing white space or a final line end. The caller adds a line end, or prints nothing if it is empty.
 * For an unknown name, and for data that the outputter cannot show, the `nested` outputter renders the value.
 */
export function renderOutput(name: string, value: Value, options: OutputOptions): string {
  const outputter = isOutputter(name) ? outputters[name] : undefined;
  return stripEnd(outputter?.(value, options) ?? renderNestedAt(value, options));
}

function renderNestedAt(value: Value, { colour, retcode, isOrdered }: OutputOptions): string {
  return renderNested(value, { colour, retcode: retcode ?? 0, isOrdered: isOrdered === true });
}

/** The indent for YAML. A negative one means brackets instead of blocks. */
function yamlIndent(indent: JsonIndent | undefined): number | undefined {
  return indent === null ? -1 : indent === "pretty" ? undefined : indent;
}

function pprintIndent(indent: JsonIndent | undefined): number | undefined {
  return typeof indent === "number" && indent >= 0 ? indent : undefined;
}
