/** Asks the API for a page's value, at once and then again in an interval, while the page is in sight. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export type Polled<Value> = {
  readonly value: Value | undefined;
  readonly error: string | undefined;
  readonly reload: () => void;
};

/** `intervalMs` 0: only once. A change of `key` forgets the value and asks anew. */
export function usePolled<Value>(key: string, intervalMs: number, ask: () => Promise<Value>): Polled<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: string }>({ key });
  const asking = useRef(ask);
  asking.current = ask;
  const look = useCallback(async () => {
    try {
      const value = await asking.current();
      setState((now) => (now.key === key ? { key, value } : now));
    } catch (error) {
      // The logout gave it up.
      if ((error as Error).name === "AbortError") return;
      setState((now) => (now.key === key ? { ...now, error: String((error as Error).message) } : now));
    }
  }, [key]);
  useEffect(() => {
    setState((now) => (now.key === key ? now : { key }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const again = async () => {
      // A page that asks only once would stay empty in a tab that is opened behind others.
      if (!document.hidden || intervalMs === 0) await look();
      if (!isOver && intervalMs > 0) timer = setTimeout(() => void again(), intervalMs);
    };
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, intervalMs, look]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    error: isCurrent ? state.error : undefined,
    reload: () => void look(),
  };
}
