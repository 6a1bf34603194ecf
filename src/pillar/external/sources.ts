/** External sources by their names in `ext_pillar`. A new source needs one file, one line here, and a change of config/options/unbuilt.ts. */
import { cmdJson, cmdYaml } from "./commands.ts";
import type { ExternalSource } from "./contract.ts";
import { fileTree } from "./file-tree.ts";
import { minionData } from "./minion-data.ts";

export const externalSources: ReadonlyMap<string, ExternalSource> = new Map([
  ["cmd_yaml", cmdYaml],
  ["cmd_json", cmdJson],
  ["file_tree", fileTree],
  ["extra_minion_data_in_pillar", minionData],
]);
