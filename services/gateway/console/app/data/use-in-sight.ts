import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Returns a reference for an element, and whether it was in sight yet. */
export function useInSight<E extends Element>(): [element: RefObject<E | null>, wasInSight: boolean] {
  const element = useRef<E>(null);
  const [wasInSight, setInSight] = useState(false);
  useEffect(() => {
    if (wasInSight || element.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setInSight(true);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [wasInSight]);
  return [element, wasInSight];
}
