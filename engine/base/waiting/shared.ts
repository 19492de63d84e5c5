/** What many ask for at once, and none may have that is older than the question. */

/**
 * Makes one thing at a time, and the next one for all who have asked meanwhile: what each is given began to be made
 * behind the question, however many ask at once.
 */
export function sharedBehind<T>(make: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const made = make().finally(() => {
      if (current === made) current = undefined;
    });
    current = made;
    return made;
  };
  // Whoever waits for the one under way is told by it alone when it fails. Between its end and the beginning of the
  // next there is a moment without one under way: who asks in it has the next one, too.
  return () => next ?? (current === undefined ? begin() : (next = current.then(begin, begin)));
}
