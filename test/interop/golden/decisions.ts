/** The recorded commands that are typed on our master with Salt's own minions, and the expected differences from the recorded output. */
import { saltReleaseFollowed } from "../../../src/config/host/program.ts";
import { compareVersions } from "../../../src/runners/minions/version-order.ts";
import { decisions as ofOurMinions } from "../../fleet/golden/decisions.ts";
import type { Decisions, Replay } from "../../fleet/golden/replay.ts";
import type { SaltRelease } from "../salt-releases.ts";

/** `SALTWORKS_GOLDEN=whole` types all, some ten minutes; otherwise a sample with the most different messages on the wire. */
const isWhole = process.env.SALTWORKS_GOLDEN === "whole";

/** Of topics that are not only about minions: the commands that ask minions, or whose answer comes from them. */
const wantedOfAll: { readonly [topic: string]: RegExp } = {
  jobs_runner:
    /^(?:make_(?:async|cmd|fail|meta|state)|lookup_jid(?:_state)?(?:_json)?$|active|start_long|running|find_job|is_running)|_running|signal|(?:kill|term)/,
  manage_runner:
    /^(?:up|down|status|present|not_|joined|allowed|alived|reaped|list_state|versions|cache_|mine_|survey_hash|salt_execute|pillar_show)/,
  salt_call: /^(?:ping$|pillar$|cmd_fail$|nofun$|return_nosuch$|mine_get|publish|full_data|event_|cp_)/,
  cli_options: /^(?!no_args|only_target|two_target|timeout_bad|unknown_opt|version|hosts)/,
  batch: /^(?!b_)/,
  // Few at once, because each makes six Python interpreters start a process.
  timing:
    /^(?:all_up|t1_sleep4|cmdrun_mixed_durations|one_silent_verbose|only_silent|silent_cmd_sleep|manage_status|jobs_active_silent|thaw_.*|freeze_mid_job|ctrl_c.*|sleep8|debug_flow)$/,
};
const wantedOfSample: typeof wantedOfAll = {
  ...wantedOfAll,
  // Of functions that only read their arguments in other ways one or two: the minion computes them, and ours are asked for all.
  functions:
    /^(?:cmd_(?:run(?:_(?:binary|notfound|timeout|bg|hide|raise_err|stderr|all|runas))?$|run_all|retcode|no_arg|exec|saltutil|script)|grains_(?:items?$|get$|setval|get_after|delval)|pillar|config_get|network|status_(?:master|ping)|data_|schedule_(?:add|list|run_job|delete$)|saltutil|match|sys_list_(?:modules|returner)|pkg_version|sync)/,
  outputters: /^ping2_static/,
  test_module: /^(?:sync|render_batch|arg|echo|fib|exception|false|retcode)/,
  timing: /^(?:all_up|t1_sleep4|one_silent_verbose|only_silent|manage_status|ctrl_c|debug_flow)$/,
};
const wanted = isWhole ? wantedOfAll : wantedOfSample;

/** Output that depends on how the minions' release was built and installed, and on missing files: also asked of a master of that release. */
export const ofReleaseAlone: ReadonlySet<string> = new Set([
  ...["sys_list_modules", "sys_list_returners", "sys_list_returner_functions", "pkg_version"].map(
    (name) => `functions:${name}`,
  ),
  "test_module:render_batch",
]);

/** The minion that all of these commands ask. */
export const askedMinion = "es1";

/** Properties of our own minions. */
const ofOurs = new Set([
  ...["sys_list_modules", "sys_list_functions_glob", "file_readdir", "file_find"].map((name) => `functions:${name}`),
  ...["sys_list_returners", "sys_list_returner_functions"].map((name) => `functions:${name}`),
  ...["jobs_search:j4", "jobs_runner:make_state", "salt_call:return_nosuch"],
]);

/** Not built yet in the master, whatever the minions. */
const missing: { readonly [key: string]: string } = Object.fromEntries(
  ["minion_data_cache_off:cache_grains", "greedy:only_mine_preview", "greedy:only_mine_preview2"].map((key) => [
    key,
    ofOurMinions.notYet[key] ?? "not compared with Salt's minions",
  ]),
);

/** So far compared with our minions only: the master's files, which the recorded minions had cached, minions' publishes, and their later effects. */
const withOursAlone =
  /^(?:salt_call:(?:publish|full_data|cp_(?!missing))|functions:(?:cp_get_(?:file(?!_missing)|dir)|cmd_script(?!_missing)|custom_module|file_readdir|file_find)|cmd_shell_default:script|events:custom_event|functions:sync_modules|test_module:sync_all)/;

function isWanted(key: string): boolean {
  const [topic = "", name = ""] = key.split(":");
  return !withOursAlone.test(key) && (wanted[topic]?.test(name) ?? true);
}

/** Clock times within a result of states. */
const withoutClocks = (text: string): string =>
  text.replace(/("(?:start_time|duration)": )(?:"[\d:.]+"|[\d.]+)/g, "$1<time>");

/** The recorded minions had their master's release. A newer one may be installed here than the one that our master follows, and an older one too. */
function versionHeadings(minions: SaltRelease | undefined): Decisions["variations"] {
  const order = minions === undefined ? 0 : compareVersions(minions.version, saltReleaseFollowed.text);
  const heading = order > 0 ? "Minion newer than master" : order < 0 ? "Minion requires update" : "Up to date";
  const asRecorded = (text: string) => text.replace(heading, "Up to date");
  return { "manage_runner:versions": asRecorded, "manage_runner:versions_json": asRecorded };
}

/** `minions`: their release. `salts`: the commands that are typed on a master of this release. */
export function decisionsBeside(minions: SaltRelease | undefined, salts: () => Replay | undefined): Decisions {
  const { deviations, variations } = ofOurMinions;
  return {
    deviations: Object.fromEntries(Object.entries(deviations).filter(([key]) => !ofOurs.has(key))),
    notYet: missing,
    variations: { ...variations, ...versionHeadings(minions), "jobs_runner:lookup_jid_state_json": withoutClocks },
    isWanted,
    ofRelease: (key) => (ofReleaseAlone.has(key) ? salts()?.asRecorded(key) : undefined),
  };
}

/** For a master of the minions' release: only the commands that are typed there. */
export const asksOfRelease: Decisions = {
  deviations: {},
  notYet: missing,
  variations: {},
  isWanted: (key) => ofReleaseAlone.has(key),
};
