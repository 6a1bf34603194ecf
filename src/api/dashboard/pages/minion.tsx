/** One minion: whether it is connected, and the grains that the master keeps of it. */
import { useState } from "preact/hooks";
import { Failure, Waiting } from "../parts/notices.tsx";
import { usePolled } from "../parts/polled.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { ApiClient } from "../session/client.ts";
import { type Explained, silentLines } from "../views/fleet-view.ts";
import { addressOf } from "../views/place.ts";
import { globFilter, longValue, shortValue } from "../views/texts.ts";

type Grains = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export function MinionPage({ client, id }: { readonly client: ApiClient; readonly id: string }) {
  const target = { tgt: id, tgt_type: "list" };
  const { value, error } = usePolled(id, 0, async () => {
    const [explained, grains] = await Promise.all([
      client.read<Explained>("wheel", "saltworks.explain_target", { ...target, tgt: [id] }),
      client.read<Grains>("runner", "cache.grains", target),
    ]);
    return { explained, grains: Object.entries(grains[id] ?? {}).sort() };
  });
  return (
    <>
      <p>
        <a href={addressOf("fleet")}>Fleet</a>
      </p>
      <h1 class="code">{id}</h1>
      <p>
        <a href={addressOf("run", "", target)}>Run a command on this minion</a>
      </p>
      <Failure text={error} />
      {value === undefined && error === undefined && <Waiting />}
      {value !== undefined && (
        <>
          <p>{presenceOf(value.explained)}</p>
          <h2>Grains</h2>
          <GrainList grains={value.grains} />
        </>
      )}
    </>
  );
}

function presenceOf(explained: Explained): string {
  if (explained.matched === 0) return "No accepted minion has this id.";
  const [silent] = silentLines(explained);
  return silent === undefined ? "Connected." : `Silent: ${silent.text}.`;
}

function GrainList({ grains }: { readonly grains: readonly (readonly [string, unknown])[] }) {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState<string>();
  const matches = globFilter(search);
  const value = grains.find(([name]) => name === chosen);
  return (
    <>
      <div class="fields">
        <label class="grow">
          Search grains
          <input
            type="search"
            value={search}
            spellcheck={false}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
      </div>
      <VirtualList
        label="Grains"
        rows={grains.filter(([name]) => matches(name))}
        keyOf={([name]) => name}
        empty={grains.length === 0 ? "The master keeps no grains of this minion." : "No grain matches."}
        draw={([name, grain]) => (
          <>
            <button type="button" class="link code" aria-expanded={name === chosen} onClick={() => setChosen(name)}>
              {name}
            </button>
            <span class="code cell-rest">{shortValue(grain)}</span>
          </>
        )}
      />
      {value !== undefined && (
        <section class="panel" aria-label={`Grain ${value[0]}`}>
          <h3 class="code">{value[0]}</h3>
          <pre>{longValue(value[1])}</pre>
        </section>
      )}
    </>
  );
}
