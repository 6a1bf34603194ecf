/** External sources by their names in `ext_pillar`. A new source needs one file, one line here, and a change of config/options/unbuilt.ts. */
import { cmdJson, cmdYaml, cmdYamlex } from "./commands.ts";
import type { ExternalSource } from "./contract.ts";
import { csv } from "./csv.ts";
import { fileTree } from "./file-tree.ts";
import { git } from "./git.ts";
import { httpJson, httpYaml } from "./http.ts";
import { minionData } from "./minion-data.ts";
import { mysql } from "./mysql.ts";
import { nodegroups } from "./nodegroups.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import { sqlite3 } from "./sqlite3.ts";
import { stack } from "./stack.ts";

export const externalSources: ReadonlyMap<string, ExternalSource> = new Map([
  ["cmd_yaml", cmdYaml],
  ["cmd_json", cmdJson],
  ["cmd_yamlex", cmdYamlex],
  ["csv", csv],
  ["file_tree", fileTree],
  ["git", git],
  ["http_json", httpJson],
  ["http_yaml", httpYaml],
  ["mysql", mysql],
  ["nodegroups", nodegroups],
  ["postgres", postgres],
  ["redis", redis],
  ["sqlite3", sqlite3],
  ["stack", stack],
  ["extra_minion_data_in_pillar", minionData],
]);
