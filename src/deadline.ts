/** Ends the wait for work that takes too long. The work itself goes on, unless `late` ends it. */

/**
 * Settles as `work` does. After `timeoutMs` it resolves to what `late` returns, or rejects with what `late` throws.
 *
 * @param late - is not called if the work is done in time
 */
export async function within<Result>(work: Promise<Result>, timeoutMs: number, late: () => Result): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Result>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
