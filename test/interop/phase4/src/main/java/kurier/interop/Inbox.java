package kurier.interop;

import java.util.ArrayList;
import java.util.List;

import com.helger.json.IJsonArray;
import com.helger.json.JsonArray;
import com.helger.json.IJsonObject;

/** What the receiver has taken, in the order of arrival. */
final class Inbox
{
  /** Messages kept; a run of the matrix has some tens. */
  private static final int MAX = 1_000;
  private static final List <IJsonObject> TAKEN = new ArrayList <> ();

  static synchronized void add (final IJsonObject message)
  {
    if (TAKEN.size () >= MAX)
      throw new IllegalStateException ("the inbox is full");
    TAKEN.add (message);
  }

  static synchronized IJsonArray all ()
  {
    final JsonArray all = new JsonArray ();
    TAKEN.forEach (all::add);
    return all;
  }

  private Inbox ()
  {}
}
