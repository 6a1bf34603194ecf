/** SLS files for the state compiler: from the master's file server, or from `file_roots` without a master. */
import { hasCode } from "../../../errors.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { SlsSource, SlsText } from "../../../states/compile/contract.ts";
import { asValue, copyOf, type Value, type ValueMap } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { CallContext, TemplateFunction } from "../../functions/module-contract.ts";
import { cachedPath, cacheMasterFile } from "../cp/file-cache.ts";
import { readIfAny } from "../cp/local-roots.ts";
import { masterEnvironments, masterList } from "../cp/master-file.ts";
import { optionsOf } from "../declare/settings.ts";

/** What templates of a run see beside this minion's facts. */
export type RunFacts = { readonly pillar: ValueMap; readonly saltenv: string | undefined };

export function slsSource(context: CallContext, { pillar, saltenv }: RunFacts): SlsSource {
  const texts = new Map<string, Promise<SlsText | undefined>>();
  const read = (path: string, environment: string) => {
    const key = `${environment} ${path}`;
    const found = texts.get(key) ?? readFile(context, path, environment);
    texts.set(key, found);
    return found;
  };
  const options = optionsOf(context);
  options.set("saltenv", saltenv ?? null);
  return {
    environments: async () => {
      const known = await masterEnvironments(context);
      return Array.isArray(known) ? known.map(strOf) : [];
    },
    names: async (environment) => {
      const files = await masterList(context, "files", environment);
      return files
        .filter((path) => path.endsWith(".sls"))
        .map((path) => path.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", "."));
    },
    read,
    render: async (file, sls, environment) => {
      if (context.extras === undefined) throw commandError("states cannot be rendered here");
      return await context.extras.renderState(
        { ...file, sls },
        {
          namesOf: () =>
            new Map<Value, Value>([
              ["grains", copyOf(context.grains())],
              ["pillar", copyOf(pillar)],
              ["opts", copyOf(options)],
              ["saltenv", environment],
            ]),
          functionOf: (name) => functionOf(context, name, pillar),
          load: (path) => read(path, environment),
          renderer: context.config.renderer,
          jinja: jinjaOptions(context, sls === "" ? "jinja_env" : "jinja_sls_env"),
        },
      );
    },
  };
}

/** Functions see the run's pillar, which the command may have changed (`pillar=`). */
function functionOf(context: CallContext, name: string, pillar: ValueMap): TemplateFunction | undefined {
  const own = context.extras?.orchestration?.functions.get(name);
  if (own !== undefined || !context.functions.has(name)) return own;
  return async (args, kwargs) => asValue(await callWith(context, name, { pillar }, args, kwargs));
}

/** Calls a function that sees other facts than this call. */
export async function callWith(
  context: CallContext,
  name: string,
  { pillar, setRetcode = context.setRetcode }: { pillar: ValueMap; setRetcode?: (code: number) => void },
  args: readonly Value[],
  kwargs: ValueMap,
) {
  const inner: CallContext = {
    ...context,
    pillar: () => pillar,
    setRetcode,
    callFunction: (other, otherArgs = [], otherKwargs = new Map()) =>
      callWith(context, other, { pillar, setRetcode }, otherArgs, otherKwargs),
  };
  return await context.runIn(inner, name, args, kwargs);
}

async function readFile(context: CallContext, path: string, environment: string): Promise<SlsText | undefined> {
  try {
    if ((await cacheMasterFile(context, { path, environment })) === undefined) return undefined;
  } catch (error) {
    // The master answers with an error for files that lie outside its roots.
    if (hasCode(error, "MASTER_UNREACHABLE")) throw error;
    context.log.error(`${path} in saltenv ${environment}: ${(error as Error).message}`);
    return undefined;
  }
  const place = cachedPath(context, { path, environment });
  const text = readIfAny(place)?.toString("utf8");
  return text === undefined ? undefined : { path, place, text };
}

/** Jinja's white-space options: the old names apply to all files, those in `jinja_env` and `jinja_sls_env` to some. */
function jinjaOptions(context: CallContext, name: string) {
  const { opts } = context.config;
  const own = opts.get(name);
  const isSet = (flag: string) => {
    const value = typeof own === "object" && own !== null ? (own as { readonly [key: string]: unknown })[flag] : null;
    return isTrue((opts.get(`jinja_${flag}`) ?? null) as Value) || isTrue((value ?? null) as Value);
  };
  return { trimBlocks: isSet("trim_blocks"), lstripBlocks: isSet("lstrip_blocks") };
}
