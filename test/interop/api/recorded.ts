/** Exchanges that were recorded with Salt's own HTTP API. Source: test/golden/README.md. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../root.ts";

export type Headers = Readonly<Record<string, string>>;
export type Exchange = {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Headers;
    readonly body: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly reason?: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: unknown;
  };
};
export type Recording = { readonly exchanges: readonly Exchange[] };

export function recorded<Form = Recording>(name: string): Form {
  return JSON.parse(readFileSync(join(repositoryRoot, "test/golden/http", `${name}.json`), "utf8")) as Form;
}
