/* Mesh links with messages in flight, written by hand from the words of the protocol and not from the kit's
 * rules, so that Spin's counts are an independent witness of theirs. One process takes every step of every
 * peer; each option of its loop is one rule for some peers, and atomic.
 *
 * Set from outside: N peers, D_HIGH, and of the variants BACKOFF, ANY (a backoff may expire while messages are
 * in flight), SILENT (a GRAFT for an unknown topic is ignored), UNSUB (who leaves says so on every channel).
 */
#ifndef N
#define N 2
#endif
#ifndef D_HIGH
#define D_HIGH 1
#endif

#define GRAFT 1
#define PRUNE 2
#define GONE  3

#define LINK(i,j) ((i)*N+(j))
#define BIT(j)    (1<<(j))

/* Of each peer: whether it is in the topic, whom it holds, and whom it backs off from, as sets of bits. */
bit in_topic[N];
byte holds[N];
#ifdef BACKOFF
byte avoids[N];
#define AVOIDS(i,j)   (avoids[i] & BIT(j))
#define AVOID(i,j)    avoids[i] = avoids[i] | BIT(j)
#else
#define AVOIDS(i,j)   0
#define AVOID(i,j)    skip
#endif

/* A queue of two places per ordered pair: the older message in the low two bits. */
byte wire[N*N];
#define OLDEST(i,j)    (wire[LINK(i,j)] & 3)
#define FULL(i,j)      (wire[LINK(i,j)] > 3)
#define BLANK(i,j)     (wire[LINK(i,j)] == 0)
#define SEND(i,j,m)    wire[LINK(i,j)] = (BLANK(i,j) -> (m) : (wire[LINK(i,j)] | ((m)<<2)))
#define DROP(i,j)      wire[LINK(i,j)] = wire[LINK(i,j)] >> 2

#define HOLDS(i,j)     (holds[i] & BIT(j))
#define HOLD(i,j)      holds[i] = holds[i] | BIT(j)
#define LET_GO(i,j)    holds[i] = holds[i] & ~BIT(j)

/* Sets of at most four bits. */
#define SIZE(s)        (((s)&1) + (((s)>>1)&1) + (((s)>>2)&1) + (((s)>>3)&1))
#define BELOW(i)       (SIZE(holds[i]) < D_HIGH)

/* v1.0, without backoff, takes every GRAFT for a topic that it is in, and cuts a mesh above D_high. With backoff
 * there are scores, which are not kept here: any member may have a negative one and be pruned. */
#ifdef BACKOFF
#define TAKES(i,j)     (in_topic[i] && (HOLDS(i,j) || (BELOW(i) && !AVOIDS(i,j))))
#define PRUNES(i)      1
#else
#define TAKES(i,j)     (in_topic[i])
#define PRUNES(i)      (SIZE(holds[i]) > D_HIGH)
#endif

#ifdef UNSUB
/* A PRUNE and the notice need both places; the notice alone one. */
#define ROOM_TO_LEAVE(i,j)  ((i)==(j) || BLANK(i,j) || (!HOLDS(i,j) && !FULL(i,j)))
#define SAY_GONE(i,j)       if :: (i)!=(j) -> SEND(i,j,GONE) :: else fi
#else
#define ROOM_TO_LEAVE(i,j)  (!HOLDS(i,j) || !FULL(i,j))
#define SAY_GONE(i,j)       skip
#endif

#define PART(i,j) \
  if :: HOLDS(i,j) -> SEND(i,j,PRUNE); LET_GO(i,j); AVOID(i,j) :: else fi; SAY_GONE(i,j)

#if N==2
#define ALL_ROOM(i)  (ROOM_TO_LEAVE(i,0) && ROOM_TO_LEAVE(i,1))
#define PART_ALL(i)  PART(i,0); PART(i,1)
#else
#define ALL_ROOM(i)  (ROOM_TO_LEAVE(i,0) && ROOM_TO_LEAVE(i,1) && ROOM_TO_LEAVE(i,2))
#define PART_ALL(i)  PART(i,0); PART(i,1); PART(i,2)
#endif

#define OWN(i) \
  :: d_step { !in_topic[i] -> in_topic[i] = 1 } \
  :: d_step { in_topic[i] && ALL_ROOM(i) -> in_topic[i] = 0; PART_ALL(i) }

#ifdef SILENT
#define REFUSED(i,j) \
  :: d_step { OLDEST(j,i)==GRAFT && in_topic[i] && !TAKES(i,j) && !FULL(i,j) -> DROP(j,i); SEND(i,j,PRUNE); AVOID(i,j) } \
  :: d_step { OLDEST(j,i)==GRAFT && !in_topic[i] -> DROP(j,i) }
#else
#define REFUSED(i,j) \
  :: d_step { OLDEST(j,i)==GRAFT && !TAKES(i,j) && !FULL(i,j) -> DROP(j,i); SEND(i,j,PRUNE); AVOID(i,j) }
#endif

#ifdef BACKOFF
#ifdef ANY
#define IN_TIME(i,j) 1
#else
#define IN_TIME(i,j) (BLANK(i,j) && BLANK(j,i))
#endif
#define EXPIRED(i,j) \
  :: d_step { AVOIDS(i,j) && IN_TIME(i,j) -> avoids[i] = avoids[i] & ~BIT(j) }
#else
#define EXPIRED(i,j)
#endif

#ifdef UNSUB
#define HEARD_GONE(i,j) \
  :: d_step { OLDEST(j,i)==GONE -> DROP(j,i); LET_GO(i,j) }
#else
#define HEARD_GONE(i,j)
#endif

#define TOWARDS(i,j) \
  :: d_step { in_topic[i] && !HOLDS(i,j) && BELOW(i) && !FULL(i,j) && !AVOIDS(i,j) -> HOLD(i,j); SEND(i,j,GRAFT) } \
  :: d_step { HOLDS(i,j) && !FULL(i,j) && PRUNES(i) -> LET_GO(i,j); AVOID(i,j); SEND(i,j,PRUNE) } \
  :: d_step { OLDEST(j,i)==GRAFT && TAKES(i,j) -> DROP(j,i); HOLD(i,j) } \
  REFUSED(i,j) \
  :: d_step { OLDEST(j,i)==PRUNE -> DROP(j,i); LET_GO(i,j); AVOID(i,j) } \
  HEARD_GONE(i,j) \
  EXPIRED(i,j)

active proctype network()
{
  do
  OWN(0)
  OWN(1)
  TOWARDS(0,1)
  TOWARDS(1,0)
#if N>2
  OWN(2)
  TOWARDS(0,2)
  TOWARDS(2,0)
  TOWARDS(1,2)
  TOWARDS(2,1)
#endif
  od
}
