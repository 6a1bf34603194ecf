/** Functions and a host for calls in tests; the host keeps all requests to it. */
import { tmpdir } from "node:os";
import { loadMinionConfig } from "../../src/config/load.ts";
import type { ConfigValue } from "../../src/config/yaml/values.ts";
import type { Surroundings } from "../../src/minion/functions/call-context.ts";
import type { MinionFacts } from "../../src/minion/functions/host.ts";
import { JobRecords } from "../../src/minion/functions/job-records.ts";
import type { ModuleFunction } from "../../src/minion/functions/module-contract.ts";
import type { Encodable } from "../../src/wire/values.ts";

export type Asked = { readonly call: string; readonly tag?: string; readonly data?: Encodable };

export async function makeSurroundings(
  functions: { readonly [name: string]: Partial<ModuleFunction> & Pick<ModuleFunction, "run"> },
  cachedir: string,
  more: { readonly facts?: Partial<MinionFacts>; readonly options?: { readonly [name: string]: ConfigValue } } = {},
): Promise<{ surroundings: Surroundings; asked: Asked[]; logged: string[] }> {
  const asked: Asked[] = [];
  const logged: string[] = [];
  const log = (text: string) => void logged.push(text);
  const table = Object.entries(functions).map(([name, definition]): [string, ModuleFunction] => [
    name,
    { params: [], doc: "", ...definition },
  ]);
  const surroundings: Surroundings = {
    config: loadMinionConfig(tmpdir(), { id: "unit", cachedir, ...more.options }),
    functions: new Map(table),
    facts: () => ({ grains: new Map(), pillar: new Map(), ...more.facts }),
    records: await JobRecords.open(cachedir),
    log: { debug: log, info: log, warn: log, error: log },
    host: {
      fireMaster: async (tag, data) => asked.push({ call: "fireMaster", tag, data }) > 0,
      fireMinion: async (tag, data) => void asked.push({ call: "fireMinion", tag, data }),
      setGrains: async () => undefined,
      masterRequest: async (load) => {
        asked.push({ call: "masterRequest", data: load });
        return "answer";
      },
      compilePillar: async () => new Map([["fresh", true]]),
    },
  };
  return { surroundings, asked, logged };
}
